//! Operations that are staged: each is a transaction whose commit waits for that of a transaction
//! with several operations.
//!
//! A verb begins its [`Transaction`] on a snapshot as always. If that is the pending state of a
//! larger transaction, [`Transaction::commit`] does not write a version, but adds the changes to
//! those of the operations before, and puts the next pending snapshot in place. Conflicts with other
//! writers are checked once, when the whole is committed on the version where it began. Begin with
//! [`StagedOperations`].

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use lakebed_core::action::Add;
use lakebed_core::commit::draft::Draft;
use lakebed_core::commit::info::{IDENTITY_ONLY_TAG, Operation};
use lakebed_core::commit::validate;
use lakebed_core::property::TableProperties;
use lakebed_core::schema::mapping::physical_name;
use lakebed_core::schema::{StructField, StructType, parse};
use tokio::sync::Mutex;

use super::committed::Committed;
use super::updated_rows::UpdatedRows;
use super::{CommitSettings, Transaction};
use crate::snapshot::{Stage, StageState};
use crate::upkeep::UpkeepOptions;
use crate::{Error, Result, Snapshot};

/// The operations of a transaction, which come one after the other.
pub(crate) struct StagedOperations(Mutex<Option<Staged>>);

/// What the operations of a transaction did so far.
pub(crate) struct Staged {
    /// Their combined changes and reads, on the version where the transaction began.
    pub(crate) whole: Transaction,
    pub(crate) operations: Vec<StagedOperation>,
    /// Files that one operation added and a later one removed.
    pub(crate) vanished: Vec<Add>,
}

/// One operation of a transaction.
pub(crate) struct StagedOperation {
    pub(crate) operation: Operation,
    /// The changes of the operation alone, on top of those before it.
    pub(crate) draft: Draft,
    pub(crate) updated: Option<Arc<UpdatedRows>>,
}

impl StagedOperations {
    /// Begins a transaction with several operations on top of a version.
    pub(crate) async fn begin(snapshot: &Snapshot, settings: CommitSettings) -> Result<Arc<Stage>> {
        let whole = Transaction::begin(snapshot, settings).await?;
        let staged = Staged { whole, operations: Vec::new(), vanished: Vec::new() };
        let lines = staged.pending_lines(&Draft::default())?;
        let stage = Stage::new(snapshot.clone(), Arc::new(Self(Mutex::new(Some(staged)))));
        stage.set(StageState::Open(snapshot.pending(lines, 0, &stage).await?));
        Ok(stage)
    }

    /// Ends the staging and returns all operations. It is an error if they were taken already.
    pub(crate) async fn take(&self) -> Result<Staged> {
        self.0.lock().await.take().ok_or_else(|| Error::invalid_input("the transaction has ended: begin another one"))
    }

    /// Adds what was read between two operations.
    pub(crate) async fn read(&self, read: super::ReadSet) -> Result<()> {
        let mut staged = self.0.lock().await;
        let staged = staged.as_mut().ok_or_else(|| Error::invalid_input("the transaction has ended: begin another one"))?;
        staged.whole.read().extend(read);
        Ok(())
    }
}

impl Staged {
    /// Returns the commit that later operations read.
    fn pending_lines(&self, draft: &Draft) -> Result<Bytes> {
        Ok(draft.render_pending(&self.whole.base, self.whole.env.now_ms())?.bytes.into())
    }

    /// Returns the data files and change data files that the operations wrote.
    pub(crate) fn written(&self) -> &[Add] {
        &self.whole.written
    }

    /// Returns whether an operation changed rows.
    fn changes_data(&self) -> bool {
        self.operations.iter().any(|staged| staged.draft.changes_data())
    }

    /// Adds an operation. Nothing changes if that fails.
    async fn add(&mut self, stage: &Arc<Stage>, one: &mut Transaction, operation: Operation) -> Result<Snapshot> {
        check_settings(one)?;
        check_files(one, &operation)?;
        validate::check(&one.draft, &one.base, one.store.url())?;
        self.check_feed(one)?;
        let mut draft = self.whole.draft.clone();
        let vanished = draft.then(one.draft.clone())?;
        let lines = self.pending_lines(&draft)?;
        let base = self.whole.snapshot.as_ref().ok_or_else(|| Error::internal("a transaction without a version"))?;
        let snapshot = base.pending(lines, self.operations.len() as u64 + 1, stage).await?;
        // From here on nothing fails.
        self.join_tags(one);
        self.whole.draft = draft;
        self.whole.read.extend(std::mem::take(&mut one.read));
        self.whole.unflushed.append(&mut one.unflushed);
        self.whole.written.append(&mut one.written);
        self.whole.vector_files.append(&mut one.vector_files);
        self.vanished.extend(vanished);
        let (draft, updated) = (std::mem::take(&mut one.draft), std::mem::take(&mut one.updated));
        self.operations.push(StagedOperation { operation, draft, updated });
        stage.set(StageState::Open(snapshot.clone()));
        Ok(snapshot)
    }

    /// Joins the tags of the commit. Other writers may ignore new metadata only if no operation
    /// changed more than the marks of identity columns.
    fn join_tags(&mut self, one: &Transaction) {
        let had_metadata = self.whole.draft.metadata.is_some();
        let was_marks = self.whole.settings.tags.remove(IDENTITY_ONLY_TAG);
        let mut tags = one.settings.tags.clone();
        let marks = tags.remove(IDENTITY_ONLY_TAG);
        self.whole.settings.tags.extend(tags);
        let only_marks = match (had_metadata, one.draft.metadata.is_some()) {
            (true, true) => was_marks.and(marks),
            (true, false) => was_marks,
            (false, _) => marks,
        };
        self.whole.settings.tags.extend(only_marks.map(|value| (IDENTITY_ONLY_TAG.to_owned(), value)));
    }

    /// Refuses operations after which the change data feed of the commit could not be right.
    fn check_feed(&self, one: &Transaction) -> Result<()> {
        if !self.changes_data() {
            return Ok(());
        }
        let Some(metadata) = &one.draft.metadata else { return Ok(()) };
        let after = TableProperties::parse(&metadata.configuration)?;
        let (before, table) = (&one.base.properties, one.store.url());
        if after.change_data_feed && !before.change_data_feed {
            return Err(Error::invalid_input(format!(
                "{table}: the transaction changed rows before it enables the change data feed, so these changes are not recorded: \
                 enable the feed as the first operation, or in a commit of its own"
            )));
        }
        let same_layout = after.column_mapping_mode == before.column_mapping_mode
            && metadata.partition_columns == one.base.metadata.partition_columns
            && only_adds_columns(&parse(&one.base.metadata.schema_string)?, &parse(&metadata.schema_string)?, &after);
        if after.change_data_feed && !same_layout {
            return Err(Error::invalid_input(format!(
                "{table}: the table has a change data feed, and the transaction changed rows before it renames, drops, retypes or \
                 repartitions columns: change the columns first, or in a commit of their own"
            )));
        }
        Ok(())
    }
}

impl Transaction {
    /// Adds this transaction to the larger one of which it is an operation.
    pub(super) async fn stage(mut self, stage: &Arc<Stage>, operation: Operation) -> Result<Committed> {
        let work = stage.work::<StagedOperations>()?;
        let mut staged = work.0.lock().await;
        let outcome = match staged.as_mut() {
            // Another operation may have been added while this one waited.
            Some(staged) => match self.snapshot.as_ref().map(Snapshot::stage) {
                Some(Err(error)) => Err(error),
                _ => staged.add(stage, &mut self, operation).await,
            },
            None => Err(Error::invalid_input("the transaction has ended: begin another one")),
        };
        match outcome {
            Ok(snapshot) => Ok(Committed { version: snapshot.version(), snapshot: Some(snapshot), conflicts: 0 }),
            Err(error) => {
                self.delete_vectors(false).await;
                Err(error)
            }
        }
    }
}

impl Transaction {
    /// Ends an operation that changes nothing. A larger transaction depends on the rows that the
    /// operation read all the same: on top of another writer's commit it might change something.
    pub(crate) async fn end_unchanged(self) -> Result<()> {
        match self.snapshot.as_ref().map_or(Ok(None), Snapshot::stage)? {
            Some(stage) => stage.work::<StagedOperations>()?.read(self.read).await,
            None => Ok(()),
        }
    }
}

/// Refuses settings that only a whole commit can have.
fn check_settings(one: &Transaction) -> Result<()> {
    let settings = &one.settings;
    let given = [
        ("user_metadata", settings.user_metadata.is_some()),
        ("commit_info", !settings.commit_info.is_empty()),
        ("upkeep", settings.upkeep != UpkeepOptions::default()),
    ];
    if let Some((name, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
        let message = format!("{name}: it belongs to the whole commit: set it where the transaction begins");
        return Err(Error::invalid_input(message));
    }
    Ok(())
}

/// Refuses files that the operation did not write, such as those of an older version. If the
/// transaction fails, its files are deleted.
fn check_files(one: &Transaction, operation: &Operation) -> Result<()> {
    let written: HashSet<&str> = one.written.iter().map(|file| file.path.as_str()).collect();
    match one.draft.adds.iter().find(|add| !written.contains(add.path.as_str())) {
        Some(add) => Err(Error::invalid_input(format!(
            "{}: {} cannot be part of a transaction with several operations, because it adds files that exist already, such as \
             {}: run it before or after the transaction",
            one.store.url(),
            operation.name,
            add.path
        ))),
        None => Ok(()),
    }
}

fn only_adds_columns(before: &StructType, after: &StructType, properties: &TableProperties) -> bool {
    let mode = properties.column_mapping_mode;
    before.fields.iter().all(|old| {
        let same = |new: &&StructField| old.name == new.name && old.data_type == new.data_type;
        after.fields.iter().find(same).is_some_and(|new| physical_name(old, mode) == physical_name(new, mode))
    })
}
