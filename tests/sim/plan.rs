//! The plan of a simulation, which the seed decides before the beginning: the table, the actors of
//! each day and the possible faults.

use std::collections::HashMap;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::faults::Faults;
use super::network::Ways;
use super::objects::Flaw;
use super::work::Work;

/// The decisions before the beginning.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) shape: Shape,
    pub(crate) ways: Ways,
    /// Whether the table exists at the beginning. Otherwise the first writer creates it.
    pub(crate) is_founded: bool,
    /// The number of objects on a page of a listing.
    pub(crate) page: usize,
    /// The days. Time passes between them, so that old files may be cleaned up.
    pub(crate) days: Vec<Day>,
    pub(crate) flaw: Option<Flaw>,
}

/// The kind of table.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shape {
    pub(crate) is_partitioned: bool,
    pub(crate) has_row_ids: bool,
    pub(crate) has_timestamps: bool,
    pub(crate) properties: HashMap<String, String>,
}

/// The actors of a day.
#[derive(Debug, Clone)]
pub(crate) struct Day {
    pub(crate) writers: Vec<(String, Vec<Work>)>,
    /// The crowds of each process. A crowd is several appends of one process at once, and crowds
    /// follow one another.
    pub(crate) crowds: Vec<(String, Vec<Crowd>)>,
    /// The number of reads of each reader.
    pub(crate) readers: Vec<usize>,
    /// The number of maintenance operations of each keeper.
    pub(crate) keepers: Vec<usize>,
}

/// The changes that one process makes at once.
#[derive(Debug, Clone)]
pub(crate) struct Crowd {
    pub(crate) works: Vec<Work>,
    /// The number of last changes that are given up when the others are done.
    pub(crate) impatient: usize,
}

impl Plan {
    pub(crate) fn random(seed: u64) -> Self {
        let mut random = SmallRng::seed_from_u64(seed);
        let shape = Shape::random(&mut random);
        let ways = Ways {
            faults: Faults::random(&mut random),
            stickiness: [0.0, 0.5, 0.9][random.random_range(0..3)],
            has_stale_listings: random.random_bool(0.15),
        };
        // A writer that creates a table and cannot see it afterwards can check nothing about it.
        let is_founded = ways.has_stale_listings || random.random_bool(0.5);
        let count = [1, 1, 1, 2, 3][random.random_range(0..5)];
        let mut days: Vec<Day> = (0..count).map(|day| Day::random(&mut random, day, count)).collect();
        let page = [1000, 1000, 4][random.random_range(0..3)];
        if is_founded && random.random_bool(0.3) {
            days[0].add_restores(&mut random);
        }
        Self { seed, shape, ways, is_founded, page, days, flaw: None }
    }
}

impl Shape {
    fn random(random: &mut SmallRng) -> Self {
        let mut shape = Self {
            is_partitioned: random.random_bool(0.5),
            has_row_ids: random.random_bool(0.2),
            has_timestamps: random.random_bool(0.2),
            properties: HashMap::new(),
        };
        let interval = [2, 3, 10][random.random_range(0..3)].to_string();
        let has_new_checkpoints = random.random_bool(0.3);
        let (has_vectors, records_changes) = (random.random_bool(0.5), random.random_bool(0.3));
        let mut set = |name: &str, value: &str| shape.properties.insert(format!("delta.{name}"), value.to_owned());
        set("checkpointInterval", &interval);
        set("logRetentionDuration", "interval 1 days");
        set("deletedFileRetentionDuration", "interval 1 days");
        if has_new_checkpoints {
            set("checkpointPolicy", "v2");
        }
        if has_vectors {
            set("enableDeletionVectors", "true");
        }
        if records_changes {
            set("enableChangeDataFeed", "true");
        }
        if shape.has_row_ids {
            set("enableRowTracking", "true");
        }
        if shape.has_timestamps {
            set("enableInCommitTimestamps", "true");
        }
        shape
    }
}

impl Day {
    fn random(random: &mut SmallRng, day: i64, days: i64) -> Self {
        let most = if days > 1 { 3 } else { 5 };
        Self {
            writers: writers(random, day, most),
            readers: (0..random.random_range(1..3)).map(|_| random.random_range(2..most + 2)).collect(),
            keepers: (0..random.random_range(0..3)).map(|_| random.random_range(1..4)).collect(),
            crowds: crowds(random, day),
        }
    }

    /// Adds a writer that goes back to the first version. On the first day, this version has all
    /// of its files.
    fn add_restores(&mut self, random: &mut SmallRng) {
        let works = (0..random.random_range(1..3)).map(|number| Work::restoring(random, 9, number)).collect();
        self.writers.push(("restorer".to_owned(), works));
    }
}

/// Returns the writers of a day. Some write alone, with or without a number for each change.
/// Sometimes two do the same work.
fn writers(random: &mut SmallRng, day: i64, most: usize) -> Vec<(String, Vec<Work>)> {
    let mut writers = Vec::new();
    for writer in 1..=random.random_range(2..most as i64) {
        let is_numbered = random.random_bool(0.4);
        let count = random.random_range(1..most as i64);
        let works: Vec<Work> = (day * 10..day * 10 + count)
            .map(|number| {
                let application = is_numbered.then(|| (format!("app{writer}"), number));
                let work = Work::random(random, writer, number);
                // A change that changes no row has no number, because it may be repeated.
                Work { application: application.filter(|_| work.takes_application()), ..work }
            })
            .collect();
        if is_numbered && random.random_bool(0.5) {
            let works = works.iter().filter(|work| work.takes_application()).cloned().collect();
            writers.push((format!("writer {writer}'"), works));
        }
        writers.push((format!("writer {writer}"), works));
    }
    writers
}

/// Returns the crowds of a day. A process may append from several threads at once, and sometimes
/// there are two such processes.
fn crowds(random: &mut SmallRng, day: i64) -> Vec<(String, Vec<Crowd>)> {
    let of = |writer: i64, random: &mut SmallRng| {
        let mut numbers = day * 20..;
        let crowds = (0..random.random_range(1..4)).map(|_| Crowd::random(random, writer, &mut numbers)).collect();
        (format!("crowd {writer}"), crowds)
    };
    let count = [0, 1, 1, 2][random.random_range(0..4)];
    (11..11 + count).map(|writer| of(writer, random)).collect()
}

impl Crowd {
    fn random(random: &mut SmallRng, writer: i64, numbers: &mut impl Iterator<Item = i64>) -> Self {
        let works: Vec<Work> = numbers
            .take(random.random_range(2..7))
            .map(|number| match random.random_bool(0.9) {
                true => Work::sharing(random, writer, number),
                false => Work::random(random, writer, number),
            })
            .collect();
        let impatient = if random.random_bool(0.2) { random.random_range(1..works.len()) } else { 0 };
        Self { works, impatient }
    }
}
