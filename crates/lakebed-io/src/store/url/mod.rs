//! Parses the URL or path of a table. Read [`StoreLocation::parse`](location::StoreLocation::parse)
//! first.
//!
//! A [`StoreLocation`](location::StoreLocation) contains no secret. Secrets in the query or user
//! part of a URL become `embedded` options. The folder of each service parses the URLs of that
//! service.

pub(super) mod location;
pub(super) mod parse;
pub(super) mod spelling;
#[cfg(test)]
mod tests;
