//! Simulations: the real code against models, with everything that may go wrong decided by a seed.
//!
//! `readers` makes tables with every kind of damage in their logs and reads them. `commits` lets
//! writers, readers, and those who checkpoint, clean up and vacuum meet in one table, on a store
//! that loses, delays and doubles requests, while they crash and come back.
//!
//! A failure prints its seed. `LAKEBED_SIM_SEED` runs that one alone, `LAKEBED_SIM_SEEDS` sets how
//! many each test runs, for which an evening is not too long.

mod actors;
mod check;
mod client;
mod commits;
mod crowd;
mod faults;
mod flaws;
mod history;
mod journal;
mod members;
mod network;
mod objects;
mod plan;
mod readers;
mod request;
mod run;
mod seeds;
mod work;
mod world;
