//! A simulation from its beginning to its check.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::actors::Actor;
use super::check::check;
use super::history;
use super::journal::{Journal, Notes};
use super::network::{Network, Ways};
use super::objects::Objects;
use super::plan::{Day, Plan, Shape};
use super::run::block_on;
use super::seeds;
use super::work::Work;

/// The shared state of the actors.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) network: Arc<Network>,
    pub(crate) journal: Journal,
    pub(crate) shape: Shape,
    /// Whether listings lag behind.
    pub(crate) is_stale: bool,
    /// The version below which versions may have been cleaned up.
    kept_from: AtomicU64,
}

/// The result of a simulation.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) notes: Notes,
    pub(crate) trace: Vec<String>,
    pub(crate) problems: Vec<String>,
}

impl Plan {
    /// Runs the simulation.
    pub(crate) fn simulate(&self) -> Outcome {
        let _alone = seeds::alone();
        let network = Arc::new(Network::new(self.seed, Objects::new(self.page, self.flaw)));
        let world = Arc::new(World {
            network: Arc::clone(&network),
            journal: Journal::default(),
            shape: self.shape.clone(),
            is_stale: self.ways.has_stale_listings,
            kept_from: AtomicU64::new(0),
        });
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
            let founder = Actor::new(world, "founder", 1);
            act(world, vec![Box::pin(founder.write(vec![Work::founding()]))]).await?;
        }
        let mut random = SmallRng::seed_from_u64(self.seed);
        for day in &self.days {
            world.network.change(self.ways.clone());
            act(world, day.actors(world, &mut random)).await?;
            world.network.change(Ways::calm());
            act(world, vec![Box::pin(Actor::new(world, "auditor", 0).audit())]).await?;
            world.network.sleep_over();
            // The last version of a day stays the latest until the next day.
            world.kept_from.store(world.network.with_objects(Objects::latest).unwrap_or(0), Ordering::Relaxed);
        }
        Ok(())
    }
}

impl World {
    /// Returns whether a version must still be readable.
    pub(crate) fn must_keep(&self, version: u64) -> bool {
        version >= self.kept_from()
    }

    pub(crate) fn kept_from(&self) -> u64 {
        self.kept_from.load(Ordering::Relaxed)
    }
}

type Acting = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Day {
    fn actors(&self, world: &Arc<World>, random: &mut SmallRng) -> Vec<Acting> {
        let mut actors: Vec<Acting> = Vec::new();
        for (name, works) in &self.writers {
            actors.push(Box::pin(Actor::new(world, name, random.random()).write(works.clone())));
        }
        for (name, crowds) in &self.crowds {
            actors.push(Box::pin(Actor::new(world, name, random.random()).append_at_once(crowds.clone())));
        }
        for (number, times) in self.readers.iter().enumerate() {
            actors.push(Box::pin(Actor::new(world, format!("reader {number}"), random.random()).read(*times)));
        }
        for (number, times) in self.keepers.iter().enumerate() {
            actors.push(Box::pin(Actor::new(world, format!("keeper {number}"), random.random()).keep(*times)));
        }
        actors
    }
}

/// Runs actors until all have ended.
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
