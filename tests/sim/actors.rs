//! Who takes part: writers, readers, and keepers, who keep the log in order and delete what nobody
//! needs. They use lakebed as anybody would, die, and come back. Those who write several things at
//! once are in [`crowd`](super::crowd).

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

/// Where the table lies in the store.
pub(crate) const ROOT: &str = "lake/t";
/// A writer that does not know what became of its change tries so often, if it may.
const MOST_ATTEMPTS: usize = 6;

/// Somebody who takes part.
pub(crate) struct Actor {
    pub(crate) world: Arc<World>,
    name: String,
    pub(crate) random: SmallRng,
    pub(crate) life: Life,
}

/// An actor until it dies.
pub(crate) struct Life {
    client: ClientId,
    /// A process has one client, however many handles.
    store: Arc<SimClient>,
    table: Table,
    crashed: oneshot::Receiver<()>,
    /// A version to look at again when others have gone on.
    held: Option<Snapshot>,
}

impl Life {
    fn begin(world: &World, name: &str, random: &mut SmallRng) -> Self {
        let (client, env, crashed) = world.network.join(name, random.random(), random.random_range(0..50));
        let store = Arc::new(SimClient::new(&world.network, client));
        let table = handle(&store, &env);
        Self { client, store, table, crashed, held: None }
    }

    /// Another handle of the same process. It has dice of its own: of those who do something at
    /// once, any may be the first to throw them.
    pub(crate) fn another_handle(&self, world: &World, seed: u64) -> Table {
        handle(&self.store, &world.network.another_env(self.client, seed))
    }

    /// An attempt at a change, of which the journal hears.
    pub(crate) fn attempt(
        &self,
        world: &Arc<World>,
        table: Table,
        work: &Work,
    ) -> impl Future<Output = (Told, Option<Snapshot>)> + use<> {
        let (world, client, work) = (Arc::clone(world), self.client, work.clone());
        async move {
            let hurt_before = world.network.hurt(client);
            world.network.note(client, &format!("--- {} {:?} {:?}", work.id, work.deed.verb, work.deed.rows));
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

    /// Does something, unless death comes first.
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

    /// Looks at the table again and again, in the ways that there are.
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

    /// Reads every version that there is.
    pub(crate) async fn audit(mut self) {
        let Some(latest) = self.latest().await else { return };
        for version in 0..=latest.version() {
            self.look_back_at(version).await;
        }
    }

    /// Keeps the log and the folder in order.
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

    /// Deletes what no version of the last day needs. A lite vacuum may find that commits are gone
    /// which nobody has vacuumed after.
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

    /// Tries until it knows what became of the change, or may not try again.
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

    /// The latest version, which counts as seen.
    async fn latest(&mut self) -> Option<Snapshot> {
        let world = Arc::clone(&self.world);
        let began = world.network.mark();
        let table = self.life.table.clone();
        let snapshot = self.undergo(async move { table.snapshot().await }).await?;
        let (who, ended, version) = (self.name.clone(), world.network.mark(), snapshot.version());
        world.journal.saw(Sight { who, began, ended, version, is_latest: true, rows: None });
        Some(snapshot)
    }

    /// A version of the past, found anew.
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

    /// What comes of looking at something. That it fails is no surprise if a request went wrong.
    async fn undergo<T>(&mut self, doing: impl Future<Output = Result<T>>) -> Option<T> {
        self.undergo_of(None, doing).await
    }

    /// The same with an old version, which may be gone.
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

/// All rows of a version, sorted.
async fn read_rows(snapshot: &Snapshot) -> Result<Vec<Row>> {
    let rows = snapshot.scan().select(["writer", "number", "part"]).stream().await?;
    Ok(rows_of(&rows.collect_all().await?))
}
