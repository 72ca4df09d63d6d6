//! The actors of a simulation: writers, readers and keepers. Keepers keep the log in order and
//! delete files that no version needs. Actors use lakebed like any application, die and come back.
//! Actors that make several changes at once are in [`crowd`](super::crowd).

use std::sync::Arc;

use lakebed::vacuum::{VacuumMode, VacuumOptions};
use lakebed::{Env, ErrorKind, Result, Snapshot, Table};
use lakebed_io::store::{Store, StoreOptions};
use object_store::ObjectStore;
use object_store::path::Path;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use tokio::sync::oneshot;
use url::Url;

use super::client::SimClient;
use super::journal::{Ended, Failure, Sight, Told};
use super::network::ClientId;
use super::objects::Objects;
use super::work::{Row, Work, rows_of};
use super::world::World;

/// The location of the table in the store.
pub(crate) const ROOT: &str = "lake/t";
/// The most attempts of a writer that does not know the outcome of its change, if it may retry.
const MOST_ATTEMPTS: usize = 6;

/// A participant of a simulation.
pub(crate) struct Actor {
    pub(crate) world: Arc<World>,
    name: String,
    pub(crate) random: SmallRng,
    pub(crate) life: Life,
}

/// An actor until it dies.
pub(crate) struct Life {
    client: ClientId,
    /// The client of the process. A process has one, with any number of handles.
    store: Arc<SimClient>,
    table: Table,
    crashed: oneshot::Receiver<()>,
    /// A version to read again after other actors have changed the table.
    held: Option<Snapshot>,
}

impl Life {
    fn begin(world: &World, name: &str, random: &mut SmallRng) -> Self {
        let (client, env, crashed) = world.network.join(name, random.random(), random.random_range(0..50));
        let store = Arc::new(SimClient::new(&world.network, client));
        let table = handle(&store, &env);
        Self { client, store, table, crashed, held: None }
    }

    /// Returns another handle of the same process. It has a random generator of its own, because
    /// concurrent tasks draw in no fixed order.
    pub(crate) fn another_handle(&self, world: &World, seed: u64) -> Table {
        handle(&self.store, &world.network.another_env(self.client, seed))
    }

    /// Makes an attempt at a change and records it in the journal.
    pub(crate) fn attempt(
        &self,
        world: &Arc<World>,
        table: Table,
        work: &Work,
    ) -> impl Future<Output = (Told, Option<Snapshot>)> + use<> {
        let (world, client, work) = (Arc::clone(world), self.client, work.clone());
        async move {
            let hurt_before = world.network.hurt(client);
            world.network.note(client, &format!("--- {} {:?} {:?}", work.id, work.deed, work.then));
            let attempt = world.journal.begin(&work, world.network.mark());
            let outcome = work.run(&table, &world.shape).await;
            let told = match &outcome {
                Ok((version, true, _)) => Told::Committed(*version),
                Ok((version, false, _)) if work.application.is_some() => Told::Known(*version),
                Ok((version, false, _)) => Told::Nothing(*version),
                Err(error) => Told::failed(error),
            };
            world.network.note(client, &format!("--- {}: {told:?}", work.id));
            let was_hurt = world.network.hurt(client) > hurt_before;
            world.journal.end(attempt, Ended { at: world.network.mark(), told: told.clone(), was_hurt });
            (told, outcome.ok().and_then(|(_, _, snapshot)| snapshot))
        }
    }

    /// Awaits `doing`, unless the actor dies first.
    pub(crate) async fn survive<T>(&mut self, doing: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            _ = &mut self.crashed => None,
            done = doing => Some(done),
        }
    }
}

impl Actor {
    pub(crate) fn new(world: &Arc<World>, name: impl Into<String>, seed: u64) -> Self {
        let (name, mut random) = (name.into(), SmallRng::seed_from_u64(seed));
        let life = Life::begin(world, &name, &mut random);
        Self { world: Arc::clone(world), name, random, life }
    }

    /// Makes one change after the other.
    pub(crate) async fn write(mut self, works: Vec<Work>) {
        for work in works {
            self.perform(&work).await;
            if self.random.random_bool(0.3) {
                self.look_at_latest().await;
            }
        }
    }

    /// Reads the table repeatedly, in different ways.
    pub(crate) async fn read(mut self, times: usize) {
        for _ in 0..times {
            match self.random.random_range(0..6) {
                0 => self.be_reborn(),
                1 => self.look_back().await,
                2 => {
                    let held = self.life.held.take();
                    self.look_at(held).await;
                }
                3 => self.life.held = self.latest().await,
                _ => self.look_at_latest().await,
            }
        }
    }

    /// Reads every version of the table.
    pub(crate) async fn audit(mut self) {
        let Some(latest) = self.latest().await else { return };
        for version in 0..=latest.version() {
            self.look_back_at(version).await;
        }
    }

    /// Keeps the log and the folder of the table in order.
    pub(crate) async fn keep(mut self, times: usize) {
        for _ in 0..times {
            let Some(snapshot) = self.latest().await else { continue };
            let (first, last) = (self.world.kept_from() + 1, snapshot.version());
            let _ = match self.random.random_range(0..6) {
                0 if first < last => {
                    let first = self.random.random_range(first..last);
                    self.undergo(async move { snapshot.compact_log(first..=last).await.map(drop) }).await
                }
                1 | 2 => self.undergo(async move { snapshot.clean_up_log().await.map(drop) }).await,
                3 => self.vacuum(VacuumMode::Full).await,
                4 => self.vacuum(VacuumMode::Lite).await,
                _ => self.undergo(async move { snapshot.checkpoint().await.map(drop) }).await,
            };
        }
    }

    /// Deletes files that no version of the last day needs. A lite vacuum may find that commits are
    /// missing which no vacuum has covered.
    async fn vacuum(&mut self, mode: VacuumMode) -> Option<()> {
        let options = VacuumOptions { mode, log_commits: self.random.random_bool(0.5), ..VacuumOptions::default() };
        let vacuum = self.life.table.vacuum().options(options);
        let oldest = (mode == VacuumMode::Lite).then_some(0);
        let outcome = self.undergo_of(oldest, async move { vacuum.run().await }).await?;
        if outcome.metrics.deleted_files > 0 {
            self.world.network.note(self.life.client, &format!("--- {:?} [Vacuumed{mode:?}]", outcome.metrics));
        }
        Some(())
    }

    pub(crate) fn be_reborn(&mut self) {
        self.life = Life::begin(&self.world, &self.name, &mut self.random);
    }

    /// Retries a change until its outcome is known, or until no retry is allowed.
    async fn perform(&mut self, work: &Work) {
        for _ in 0..MOST_ATTEMPTS {
            let told = self.attempt(work).await;
            let is_settled = match &told {
                Some(Told::Committed(_) | Told::Known(_) | Told::Nothing(_)) => true,
                Some(Told::Failed(kind, _)) => !matches!(kind, ErrorKind::CommitUnknown { .. } | ErrorKind::Store { .. }),
                None => false,
            };
            if is_settled || work.application.is_none() {
                return;
            }
        }
    }

    async fn attempt(&mut self, work: &Work) -> Option<Told> {
        let attempt = self.life.attempt(&self.world, self.life.table.clone(), work);
        let Some((told, snapshot)) = self.life.survive(attempt).await else {
            self.be_reborn();
            return None;
        };
        if snapshot.is_some() && self.random.random_bool(0.3) {
            self.look_at(snapshot).await;
        }
        Some(told)
    }

    pub(crate) async fn look_at_latest(&mut self) {
        let snapshot = self.latest().await;
        self.look_at(snapshot).await;
    }

    /// Reads the latest version and records that it was seen.
    async fn latest(&mut self) -> Option<Snapshot> {
        let world = Arc::clone(&self.world);
        let began = world.network.mark();
        let table = self.life.table.clone();
        let snapshot = self.undergo(async move { table.snapshot().await }).await?;
        let (who, ended, version) = (self.name.clone(), world.network.mark(), snapshot.version());
        world.journal.saw(Sight { who, began, ended, version, is_latest: true, rows: None });
        Some(snapshot)
    }

    /// Loads an older version by a new read of the log.
    async fn look_back(&mut self) {
        let Some(latest) = self.latest().await else { return };
        let version = self.random.random_range(0..=latest.version());
        self.look_back_at(version).await;
    }

    async fn look_back_at(&mut self, version: u64) {
        let table = self.life.table.clone();
        let asked = self.undergo_of(Some(version), async move { table.snapshot_at(version).await }).await;
        let Some(snapshot) = asked else { return };
        assert_eq!(snapshot.version(), version);
        self.look_at(Some(snapshot)).await;
    }

    async fn look_at(&mut self, snapshot: Option<Snapshot>) {
        let Some(snapshot) = snapshot else { return };
        let world = Arc::clone(&self.world);
        let (began, version) = (world.network.mark(), snapshot.version());
        let rows = self.undergo_of(Some(version), async move { read_rows(&snapshot).await }).await;
        let Some(rows) = rows else { return };
        let (who, ended) = (self.name.clone(), world.network.mark());
        world.journal.saw(Sight { who, began, ended, version, is_latest: false, rows: Some(rows) });
    }

    /// Returns the result of a read. An error is no surprise if a request met a fault.
    async fn undergo<T>(&mut self, doing: impl Future<Output = Result<T>>) -> Option<T> {
        self.undergo_of(None, doing).await
    }

    /// Returns the result of a read of an old version, which may have been cleaned up.
    async fn undergo_of<T>(&mut self, version: Option<u64>, doing: impl Future<Output = Result<T>>) -> Option<T> {
        let world = Arc::clone(&self.world);
        let (began, hurt_before) = (world.network.mark(), world.network.hurt(self.life.client));
        let had_hint = world.network.with_objects(Objects::has_hint);
        let Some(outcome) = self.life.survive(doing).await else {
            self.be_reborn();
            return None;
        };
        let was_hurt = world.network.hurt(self.life.client) > hurt_before;
        match outcome {
            Ok(seen) => Some(seen),
            Err(error) => {
                world.network.note(self.life.client, &format!("--- {error}"));
                let (who, kind, message) = (self.name.clone(), error.kind().clone(), error.to_string());
                let may_be_gone = version.is_some_and(|version| !world.must_keep(version));
                world.journal.failed(Failure { who, began, kind, message, was_hurt, may_be_gone, had_hint });
                None
            }
        }
    }
}

fn handle(client: &Arc<SimClient>, env: &Env) -> Table {
    let options = StoreOptions { env: env.clone(), ..StoreOptions::default() };
    let url = Url::parse(&format!("memory://sim/{ROOT}")).unwrap();
    let store = Store::from_object_store_with(Arc::clone(client) as Arc<dyn ObjectStore>, Path::from(ROOT), url, options);
    Table::at("memory://sim").with_env(env.clone()).with_store(store).build().unwrap()
}

/// Returns all rows of a version, sorted.
async fn read_rows(snapshot: &Snapshot) -> Result<Vec<Row>> {
    let rows = snapshot.scan().select(["writer", "number", "part"]).stream().await?;
    Ok(rows_of(&rows.collect_all().await?))
}
