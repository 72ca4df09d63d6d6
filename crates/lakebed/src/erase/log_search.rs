//! Searches everything that the log names for files that hold matching rows: the files of the
//! versions that can be read, and the files that the commits name. Each file is decided once: by the
//! log if that proves that no row matches, else by its rows. Begin with [`LogSearch::run`].

use std::collections::{BTreeSet, HashMap, HashSet};
use std::pin::pin;

use arrow_arith::boolean::{and, or};
use arrow_array::BooleanArray;
use futures::TryStreamExt;
use lakebed_core::action::Metadata;
use lakebed_core::log::files::{FileBatch, FileKey};
use lakebed_core::log::segment::{ListedLogFile, readable_versions};
use lakebed_core::path::{FilePath, LogPath};
use lakebed_core::schema::mapping;
use lakebed_io::log;

use super::definition::Definition;
use super::held_rows::{self, HeldRows};
use super::logged_files::{self, Naming};
use super::newest::path_keys;
use crate::scan::ScanFile;
use crate::scan::plan::{Plan, PlanOptions, may_match, partition_may_match};
use crate::{Result, Snapshot, Table};

/// The operation of the commit at which the log begins after an erase of the history.
pub(super) const FENCE: &str = "ERASE HISTORY";

/// The maximum number of files that one read takes.
const FILES_AT_ONCE: usize = 1024;

/// A file that holds matching rows, or may hold some.
pub(super) struct HoldingFile {
    /// The path, as the log spells it.
    pub(super) path: String,
    /// The path below the table; `None` for a file elsewhere.
    pub(super) name: Option<String>,
    pub(super) size: u64,
    pub(super) is_changes: bool,
    pub(super) held: HeldRows,
}

/// What the log names.
pub(super) struct FoundInLog {
    pub(super) files: Vec<HoldingFile>,
    /// The positions of the files by the keys of their paths.
    pub(super) places: HashMap<FileKey, usize>,
    pub(super) listed: Vec<ListedLogFile>,
    /// The versions that a listing of commits does not lead to.
    pub(super) bases: Vec<u64>,
    /// The versions of placeholders.
    pub(super) placeholders: BTreeSet<u64>,
    /// The newest version that an erase made the beginning of the log.
    pub(super) fence: Option<u64>,
}

/// A search of the log up to a version.
#[derive(Clone, Copy)]
pub(super) struct LogSearch<'a> {
    pub(super) table: &'a Table,
    pub(super) newest: &'a Snapshot,
    pub(super) text: &'a str,
    pub(super) now_ms: i64,
    /// Files that are known to hold matching rows.
    pub(super) known: &'a HashSet<FileKey>,
}

/// The state of a search.
struct Searching<'a> {
    search: &'a LogSearch<'a>,
    /// The files that need no decision: those of the newest version, and those decided before.
    seen: HashSet<FileKey>,
    definition: Option<Definition>,
    /// The metadata that the definition belongs to.
    metadata: Option<Metadata>,
    waiting: Vec<(Naming, ScanFile)>,
    files: Vec<HoldingFile>,
    places: HashMap<FileKey, usize>,
}

impl LogSearch<'_> {
    pub(super) async fn run(&self) -> Result<FoundInLog> {
        let store = self.newest.store();
        let mut listed = log::list_log(store, None).await?;
        listed.retain(|file| file.path.version <= self.newest.version());
        let readable = readable_versions(&listed, &HashSet::new());
        let bases = bases(&listed, &readable);
        let mut searching = Searching {
            search: self,
            seen: self.clean_files().await?,
            definition: None,
            metadata: None,
            waiting: Vec::new(),
            files: Vec::new(),
            places: HashMap::new(),
        };
        let commits: Vec<LogPath> = listed.iter().filter(|file| file.path.is_commit()).map(|file| file.path.clone()).collect();
        let mut waiting_bases = bases.iter().copied().peekable();
        let (mut placeholders, mut fence) = (BTreeSet::new(), None);
        // Commits below the first version that can be read belong to its definition, as far as is
        // known.
        searching.define(readable.first().copied().unwrap_or(self.newest.version())).await?;
        let mut parts = pin!(logged_files::read(store, &commits));
        while let Some(part) = parts.try_next().await? {
            while let Some(base) = waiting_bases.next_if(|base| *base <= part.version) {
                searching.take_version(base).await?;
            }
            if part.is_placeholder {
                placeholders.insert(part.version);
            }
            if part.operation.as_deref() == Some(FENCE) {
                fence = Some(part.version);
            }
            if let Some(metadata) = part.metadata.filter(|_| readable.contains(&part.version)) {
                searching.follow(&metadata, part.version).await?;
            }
            for (naming, batch) in part.files {
                searching.take(naming, batch).await?;
            }
        }
        for base in waiting_bases {
            searching.take_version(base).await?;
        }
        searching.decide_waiting().await?;
        let Searching { files, places, .. } = searching;
        Ok(FoundInLog { files, places, listed, bases, placeholders, fence })
    }

    /// Returns the files of the newest version that hold no matching row.
    async fn clean_files(&self) -> Result<HashSet<FileKey>> {
        let mut clean = HashSet::new();
        let mut files = Plan::new(self.newest, None, PlanOptions::default())?.files();
        while let Some(batch) = files.try_next().await? {
            clean.extend(path_keys(&batch)?.into_iter().filter(|key| !self.known.contains(key)));
        }
        Ok(clean)
    }
}

/// Returns the versions that can be read, but not from the version before and a commit.
fn bases(listed: &[ListedLogFile], readable: &BTreeSet<u64>) -> Vec<u64> {
    let commits: HashSet<u64> = listed.iter().filter(|file| file.path.is_commit()).map(|file| file.path.version).collect();
    let follows = |version: &u64| version.checked_sub(1).is_none_or(|before| readable.contains(&before));
    readable.iter().copied().filter(|version| !(follows(version) && commits.contains(version))).collect()
}

impl Searching<'_> {
    /// Searches further files by this metadata of a version, if it changes how they are read.
    async fn follow(&mut self, metadata: &Metadata, version: u64) -> Result<()> {
        let layout = |metadata: &Metadata| {
            let mode = metadata.configuration.get(mapping::MODE).cloned();
            (metadata.schema_string.clone(), metadata.partition_columns.clone(), mode)
        };
        if self.metadata.as_ref().map(layout) == Some(layout(metadata)) { Ok(()) } else { self.define(version).await }
    }

    /// Searches further files by the definition of this version.
    async fn define(&mut self, version: u64) -> Result<()> {
        self.decide_waiting().await?;
        let LogSearch { table, newest, text, now_ms, .. } = *self.search;
        let snapshot = match version == newest.version() {
            true => newest.clone(),
            // A version that cannot be read any more had the definition of the next one that can, as far
            // as is known.
            false => table.snapshot_at(version).await.unwrap_or_else(|_| newest.clone()),
        };
        self.definition = Definition::of(&snapshot, newest, text, now_ms)?;
        self.metadata = Some(snapshot.metadata().clone());
        Ok(())
    }

    /// Searches the files of a version.
    async fn take_version(&mut self, version: u64) -> Result<()> {
        self.define(version).await?;
        let snapshot = self.search.table.snapshot_at(version).await?;
        let options = PlanOptions { whole_actions: true, ..PlanOptions::default() };
        let mut files = Plan::new(&snapshot, None, options)?.files();
        while let Some(batch) = files.try_next().await? {
            self.take(Naming::Added, batch).await?;
        }
        Ok(())
    }

    /// Searches files that were not seen before.
    async fn take(&mut self, naming: Naming, batch: FileBatch) -> Result<()> {
        let is_new = path_keys(&batch)?.into_iter().map(|key| Some(self.seen.insert(key)));
        let batch = batch.filter(&is_new.collect::<BooleanArray>())?;
        let known: BooleanArray = path_keys(&batch)?.iter().map(|key| Some(self.search.known.contains(key))).collect();
        let undecided = match &self.definition {
            Some(definition) => {
                let may = may_hold(definition, &batch)?;
                let rest = batch.filter(&and(&may, &arrow_arith::boolean::not(&known)?)?)?;
                let files = ScanFile::of_batch(&rest, &definition.partitions)?;
                self.waiting.extend(files.into_iter().map(|file| (naming, file)));
                None
            }
            None => Some(batch.filter(&arrow_arith::boolean::not(&known)?)?),
        };
        for (files, held) in [(Some(batch.filter(&known)?), HeldRows::Some), (undecided, HeldRows::Undecided)] {
            for file in
                files.iter().map(|files| ScanFile::of_batch(files, &[])).collect::<Result<Vec<_>>>()?.into_iter().flatten()
            {
                self.push(naming, &file, held)?;
            }
        }
        if self.waiting.len() >= FILES_AT_ONCE { self.decide_waiting().await } else { Ok(()) }
    }

    async fn decide_waiting(&mut self) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        let Some(definition) = self.definition.clone().filter(|_| !waiting.is_empty()) else { return Ok(()) };
        let mut waiting = waiting.into_iter().peekable();
        while waiting.peek().is_some() {
            let (namings, files): (Vec<Naming>, Vec<ScanFile>) = waiting.by_ref().take(FILES_AT_ONCE).unzip();
            let held = held_rows::find(&definition.scan, &definition.spec, files.clone()).await?;
            for ((naming, file), held) in namings.into_iter().zip(&files).zip(held) {
                // Without statistics and partition values, the log has no value of a missing file.
                let is_silent = naming != Naming::Added && definition.partitions.is_empty();
                if held != HeldRows::None && !(held == HeldRows::Missing && is_silent) {
                    self.push(naming, file, held)?;
                }
            }
        }
        Ok(())
    }

    fn push(&mut self, naming: Naming, file: &ScanFile, held: HeldRows) -> Result<()> {
        self.places.insert(FileKey::new(&file.path, None), self.files.len());
        self.files.push(HoldingFile {
            path: file.path.clone(),
            name: self.search.newest.store().name_below_root(&FilePath::parse(&file.path)?),
            size: file.size,
            is_changes: naming == Naming::Changes,
            held,
        });
        Ok(())
    }
}

/// Returns for each of these files whether it may hold matching rows, as far as the log says. The
/// bounds of a file with a deletion vector may leave deleted rows out.
fn may_hold(definition: &Definition, batch: &FileBatch) -> Result<BooleanArray> {
    let by_partition = partition_may_match(&definition.pruner, batch)?;
    let by_rows = or(&may_match(&definition.pruner, batch)?, &batch.has_deletion_vector()?)?;
    Ok(and(&by_partition, &by_rows)?)
}
