//! A simulation from its seed to its end: which table, who takes part, what may go wrong; then the run, and the judgement.

use std::collections::HashMap;
use std::sync::Arc;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::actors::Actor;
use super::check::check;
use super::faults::Faults;
use super::history;
use super::journal::{Journal, Notes};
use super::network::{Network, Ways};
use super::objects::{Flaw, Objects};
use super::run::block_on;
use super::seeds;
use super::work::Work;

/// What kind of table it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shape {
    pub(crate) is_partitioned: bool,
    pub(crate) has_row_ids: bool,
    pub(crate) has_timestamps: bool,
    pub(crate) properties: HashMap<String, String>,
}

/// Everything that is decided before the beginning.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) shape: Shape,
    pub(crate) ways: Ways,
    /// Whether there is a table at the beginning; else the first writer makes it.
    pub(crate) is_founded: bool,
    /// Objects on a page of a listing.
    pub(crate) page: usize,
    pub(crate) writers: Vec<(String, Vec<Work>)>,
    /// How often each reader looks.
    pub(crate) readers: Vec<usize>,
    pub(crate) flaw: Option<Flaw>,
}

/// Where the actors meet.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) network: Arc<Network>,
    pub(crate) journal: Journal,
    pub(crate) shape: Shape,
    /// Whether listings lag behind.
    pub(crate) is_stale: bool,
}

/// What came of a simulation.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) notes: Notes,
    pub(crate) trace: Vec<String>,
    pub(crate) problems: Vec<String>,
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
        let writers = writers(&mut random, &shape);
        let readers = (0..random.random_range(1..3)).map(|_| random.random_range(2..7)).collect();
        let page = [1000, 1000, 4][random.random_range(0..3)];
        let is_founded = ways.has_stale_listings || random.random_bool(0.5);
        Self { seed, shape, ways, is_founded, page, writers, readers, flaw: None }
    }

    /// Runs it.
    pub(crate) fn simulate(&self) -> Outcome {
        let _alone = seeds::alone();
        let objects = Objects::new(self.page, self.flaw);
        let network = Arc::new(Network::new(self.seed, objects));
        let (shape, is_stale) = (self.shape.clone(), self.ways.has_stale_listings);
        let world = Arc::new(World { network: Arc::clone(&network), journal: Journal::default(), shape, is_stale });
        let ended = block_on(&network, self.play(&world));
        let history = network.with_objects(history::read);
        let problems = match (ended, history) {
            (Err(problem), _) | (_, Err(problem)) => vec![problem],
            (Ok(()), Ok(history)) => check(&world, &history),
        };
        Outcome { notes: world.journal.notes(), trace: network.trace(), problems }
    }

    async fn play(&self, world: &Arc<World>) -> Result<(), String> {
        if self.is_founded {
            let work = Work::founding();
            act(world, vec![Box::pin(Actor::new(world, "founder", 1).write(vec![work]))]).await?;
        }
        world.network.change(self.ways.clone());
        let mut actors: Vec<Acting> = Vec::new();
        let mut random = SmallRng::seed_from_u64(self.seed);
        for (name, works) in &self.writers {
            actors.push(Box::pin(Actor::new(world, name, random.random()).write(works.clone())));
        }
        for (number, times) in self.readers.iter().enumerate() {
            actors.push(Box::pin(Actor::new(world, format!("reader {number}"), random.random()).read(*times)));
        }
        act(world, actors).await?;
        world.network.change(Ways::calm());
        act(world, vec![Box::pin(Actor::new(world, "auditor", 0).audit())]).await
    }
}

type Acting = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// Lets actors act until all are at their ends.
async fn act(world: &Arc<World>, actors: Vec<Acting>) -> Result<(), String> {
    let (stuck, mut is_stuck) = oneshot::channel();
    world.network.begin(actors.len(), stuck);
    let mut tasks = JoinSet::new();
    for actor in actors {
        let world = Arc::clone(world);
        tasks.spawn(async move {
            actor.await;
            world.network.end();
        });
    }
    loop {
        tokio::select! {
            Ok(why) = &mut is_stuck => return Err(why),
            ended = tasks.join_next() => match ended {
                None => return Ok(()),
                Some(Ok(())) => {}
                Some(Err(error)) => return Err(error.to_string()),
            },
        }
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
        let mut set = |name: &str| shape.properties.insert(name.to_owned(), "true".to_owned());
        if shape.has_row_ids {
            set("delta.enableRowTracking");
        }
        if shape.has_timestamps {
            set("delta.enableInCommitTimestamps");
        }
        shape
    }
}

/// Some write each for themselves, with a number for each change or without; some times two do the same work.
fn writers(random: &mut SmallRng, shape: &Shape) -> Vec<(String, Vec<Work>)> {
    let mut writers = Vec::new();
    for writer in 1..=random.random_range(2..5) {
        let is_numbered = random.random_bool(0.4);
        let count = random.random_range(1..5);
        let works: Vec<Work> = (0..count)
            .map(|number| {
                let application = is_numbered.then(|| (format!("app{writer}"), number));
                Work { application, ..Work::random(random, writer, number, shape) }
            })
            .collect();
        if is_numbered && random.random_bool(0.5) {
            writers.push((format!("writer {writer}'"), works.clone()));
        }
        writers.push((format!("writer {writer}"), works));
    }
    writers
}
