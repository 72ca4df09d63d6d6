//! Simulations: the real code against models, with every fault decided by a seed.
//!
//! `readers` creates tables with every kind of damage in their logs and reads them. `commits` runs
//! writers, readers, checkpoints, cleanups and vacuums concurrently on one table. Its store loses,
//! delays and doubles requests, and its clients crash and come back.
//!
//! A failure prints its seed. `LAKEBED_SIM_SEED` runs that seed alone. `LAKEBED_SIM_SEEDS` sets the
//! number of seeds that each test runs; a run of a whole evening is not too long.

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
