//! What a table's URL or path says. Read [`StoreLocation::parse`](location::StoreLocation::parse) first.
//!
//! A [`StoreLocation`](location::StoreLocation) holds no secret: what a URL carried in its query or user part moves to its `embedded` options. What the
//! URLs of one service look like is told in the service's own folder.

pub(super) mod location;
pub(super) mod parse;
pub(super) mod spelling;
#[cfg(test)]
mod tests;
