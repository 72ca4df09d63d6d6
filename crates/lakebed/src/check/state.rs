//! Level `state`: the newest checkpoints and the checksum agree with the commits, and every file
//! action of the newest version is valid.

use std::collections::{BTreeSet, HashSet};

use arrow_array::Array;
use lakebed_core::feature::supported_features;
use lakebed_core::log::files::{FileBatch, column};
use lakebed_core::log::segment::{CheckpointFiles, checkpoints};
use lakebed_core::path::{FilePath, HINT_NAME, LogKind, LogPath, checksum_name, commit_name};
use lakebed_core::schema::mapping::physical_name;
use lakebed_core::schema::{DataType, PrimitiveType};
use lakebed_io::log;

use super::commits::CheckedLog;
use super::compactions;
use super::damaged::damage;
use super::finding::{Finding, FindingKind};
use super::findings::Findings;
use super::newest::newest_readable;
use super::progress::LevelReporter;
use super::row_id_mark::{GreatestRowId, check_mark};
use super::state_digest::StateDigest;
use crate::snapshot::load_without;
use crate::{Error, Result, Snapshot, Table};

/// The newest version that can be read, and its state.
pub(super) struct CheckedState {
    pub(super) snapshot: Snapshot,
    pub(super) files: u64,
    /// The checkpoints that cannot be used.
    pub(super) unusable: HashSet<String>,
    /// The versions of checkpoints that were compared with the commits.
    pub(super) compared: BTreeSet<u64>,
}

/// Checks the state of the newest version that can be read. Returns `None` if there is none.
pub(super) async fn check(
    table: &Table,
    log: &CheckedLog,
    findings: &mut Findings,
    reporter: &mut LevelReporter<'_>,
) -> Result<Option<CheckedState>> {
    let (mut unusable, mut compared) = (HashSet::new(), BTreeSet::new());
    loop {
        let newest = newest_readable(table, &log.listed, &log.broken, &unusable).await?;
        let Some(snapshot) = newest.snapshot else { return Ok(None) };
        let mut entries = EntryCheck::new(&snapshot, findings.of_same_limit());
        let read = StateDigest::read(&snapshot, |batch| {
            reporter.add(batch.len() as u64);
            entries.check(batch)
        });
        match damage(read.await)? {
            Ok(digest) => {
                let found = std::mem::replace(&mut entries.found, findings.of_same_limit());
                compared.extend(compare_checkpoints(table, log, &mut unusable, findings).await?);
                // The state is read again without a checkpoint that is wrong.
                if snapshot.segment().checkpoint.as_ref().is_some_and(|files| unusable.contains(&files.name())) {
                    continue;
                }
                findings.absorb(found);
                if let Some(greatest) = entries.row_ids {
                    findings.extend(check_mark(greatest, digest.row_id_mark()?));
                }
                check_hint_counts(log, &snapshot, &digest, findings);
                let used = log.compactions().filter(|path| path.version >= log.first_needed());
                compactions::compare(table.store(), log, used, findings).await?;
                check_checksum(&snapshot, log, &digest, findings).await?;
                return Ok(Some(CheckedState { snapshot, files: digest.files, unusable, compared }));
            }
            Err(error) => {
                let broken = snapshot.segment().checkpoint.as_ref().filter(|files| !unusable.contains(&files.name()));
                let Some(files) = broken else {
                    let finding = Finding::new(FindingKind::StateUnreadable, error.message()).version(snapshot.version());
                    findings.report(finding);
                    return Ok(None);
                };
                findings.report(checkpoint_unreadable(files, &error));
                unusable.insert(files.name());
            }
        }
    }
}

pub(super) fn checkpoint_unreadable(files: &CheckpointFiles, error: &Error) -> Finding {
    Finding::new(FindingKind::CheckpointUnreadable, error.message()).file(files.name()).version(files.version)
}

/// Compares all forms of the newest checkpoint, and of the one before, with the commits. Returns
/// their versions.
async fn compare_checkpoints(
    table: &Table,
    log: &CheckedLog,
    unusable: &mut HashSet<String>,
    findings: &mut Findings,
) -> Result<Vec<u64>> {
    let (complete, _) = checkpoints(&log.listed, unusable);
    let mut versions: Vec<u64> = complete.iter().map(|files| files.version).collect();
    versions.dedup();
    // The older one comes first, because the newer one may be compared with it.
    let newest = versions.split_off(versions.len().saturating_sub(2));
    for version in &newest {
        compare_checkpoints_of(table, log, *version, unusable, findings).await?;
    }
    Ok(newest)
}

/// Compares all forms of the checkpoint of one version with the commits, and adds those that cannot
/// be used to `unusable`.
pub(super) async fn compare_checkpoints_of(
    table: &Table,
    log: &CheckedLog,
    version: u64,
    unusable: &mut HashSet<String>,
    findings: &mut Findings,
) -> Result<()> {
    let (complete, _) = checkpoints(&log.listed, unusable);
    let forms: Vec<CheckpointFiles> = complete.into_iter().filter(|files| files.version == version).collect();
    let names: HashSet<String> = forms.iter().map(CheckpointFiles::name).collect();
    let without: HashSet<String> = unusable.union(&names).cloned().collect();
    // The commits since the first one are compared if they are all there, else an older checkpoint
    // and the commits since. Otherwise nothing is known to compare it with.
    let all = log.checkpoints.iter().map(CheckpointFiles::name).chain(unusable.iter().cloned()).collect();
    let by_commits = match digest_without(table, log, version, all).await? {
        Ok(digest) => Some(digest),
        Err(_) => digest_without(table, log, version, without.clone()).await?.ok(),
    };
    for files in forms {
        let name = files.name();
        let others: HashSet<String> = without.iter().filter(|other| **other != name).cloned().collect();
        match digest_without(table, log, version, others).await? {
            Err(error) => {
                findings.report(checkpoint_unreadable(&files, &error));
                unusable.insert(name);
            }
            Ok(digest) => {
                let Some(what) = by_commits.as_ref().and_then(|commits| digest.difference(commits)) else { continue };
                findings.report(Finding::new(FindingKind::CheckpointWrong, what).file(&name).version(version));
                unusable.insert(name);
            }
        }
    }
    Ok(())
}

/// Returns the state of a version without these checkpoints and without checksums.
async fn digest_without(
    table: &Table,
    log: &CheckedLog,
    version: u64,
    mut unusable: HashSet<String>,
) -> Result<Result<StateDigest, Error>> {
    let checksum = log.listed.iter().rev().find(|file| file.path.kind == LogKind::Checksum);
    unusable.extend(checksum.map(|file| file.path.name.clone()));
    let count = unusable.len();
    let read = async {
        let snapshot = load_without(table.store().clone(), table.env().clone(), Some(version), unusable).await?;
        if snapshot.unusable().len() > count {
            return Err(Error::corrupt(snapshot.url(), "its checkpoint cannot be opened"));
        }
        StateDigest::read(&snapshot, |_| Ok(())).await
    };
    damage(read.await)
}

/// Compares the counts of the hint with the state, if the hint names the checkpoint of this version.
fn check_hint_counts(log: &CheckedLog, snapshot: &Snapshot, digest: &StateDigest, findings: &mut Findings) {
    let Some(hint) = log.hint.as_ref().filter(|hint| hint.version == snapshot.version()) else { return };
    let Some(told) = hint.num_of_add_files.filter(|told| u64::try_from(*told) != Ok(digest.files)) else { return };
    let message = format!("it says that the checkpoint has {told} files, but it has {}", digest.files);
    findings.report(Finding::new(FindingKind::HintWrong, message).file(HINT_NAME).version(hint.version));
}

/// Compares the checksum of a version with its state.
async fn check_checksum(snapshot: &Snapshot, log: &CheckedLog, digest: &StateDigest, findings: &mut Findings) -> Result<()> {
    let checksums = || log.listed.iter().filter(|file| file.path.kind == LogKind::Checksum);
    for file in checksums().filter(|file| file.path.version > log.newest) {
        check_version(snapshot, log, &file.path, findings).await?;
    }
    let Some(file) = checksums().find(|file| file.path.version == snapshot.version()) else { return Ok(()) };
    let place = |kind, message: String| Finding::new(kind, message).file(&file.path.name).version(file.path.version);
    match damage(log::read_checksum(snapshot.store(), &file.path).await)? {
        Err(error) => findings.report(place(FindingKind::ChecksumUnreadable, error.message().to_owned())),
        Ok(told) => {
            let Some(actual) = digest.checksum(snapshot).await else { return Ok(()) };
            if let Some(what) = told.contradicts(&actual) {
                let message = format!("{} contradicts the log: it has a different {what}", checksum_name(snapshot.version()));
                findings.report(place(FindingKind::ChecksumWrong, message));
            }
        }
    }
    Ok(())
}

/// Reports a checksum whose version does not exist. If its commit was lost, the next writer takes the
/// version, and the checksum contradicts it.
async fn check_version(snapshot: &Snapshot, log: &CheckedLog, path: &LogPath, findings: &mut Findings) -> Result<()> {
    let commit = snapshot.store().log_path(&commit_name(path.version))?;
    match snapshot.store().head(&commit).await {
        // Another writer committed it after the log was listed.
        Ok(_) => return Ok(()),
        Err(error) if !error.is_not_found() => return Err(error),
        Err(_) => {}
    }
    let message = format!("it belongs to version {}, but the newest version is {}", path.version, log.newest);
    findings.report(Finding::new(FindingKind::ChecksumWrong, message).file(&path.name).version(path.version));
    Ok(())
}

/// Checks the file actions of a version.
struct EntryCheck {
    /// The physical name, the logical name and the type of each partition column.
    partitions: Vec<(String, String, PrimitiveType)>,
    /// Whether files may have deletion vectors.
    has_vectors: bool,
    /// The greatest row id, if files must have row ids.
    row_ids: Option<GreatestRowId>,
    /// They count only if the state can be read to its end.
    found: Findings,
}

impl EntryCheck {
    fn new(snapshot: &Snapshot, found: Findings) -> Self {
        let columns = snapshot.partition_columns().iter().filter_map(|name| snapshot.schema().field(name));
        let typed = columns.filter_map(|field| match field.data_type {
            DataType::Primitive(data_type) => {
                Some((physical_name(field, snapshot.mapping_mode()).to_owned(), field.name.clone(), data_type))
            }
            _ => None,
        });
        let row_ids = snapshot.properties().row_tracking.then(GreatestRowId::default);
        let has_vectors = supported_features(snapshot.protocol()).contains(&"deletionVectors");
        Self { partitions: typed.collect(), has_vectors, row_ids, found }
    }

    fn check(&mut self, batch: &FileBatch) -> Result<()> {
        let (paths, sizes, row_ids) = (batch.paths()?, batch.longs(column::SIZE)?, batch.longs(column::BASE_ROW_ID)?);
        if let Some(greatest) = &mut self.row_ids {
            greatest.add(batch)?;
        }
        let with_vector = batch.has_deletion_vector()?;
        for row in 0..batch.len() {
            let path = paths.value(row);
            let invalid = |message: String| Finding::new(FindingKind::FileEntryInvalid, message).file(path);
            if let Err(error) = FilePath::parse(path) {
                self.found.report(invalid(error.message().to_owned()));
            }
            if sizes.is_null(row) || sizes.value(row) < 0 {
                self.found.report(invalid("the log has no valid size of the file".to_owned()));
            }
            if self.row_ids.is_some() && row_ids.is_null(row) {
                self.found.report(invalid("the table has row tracking, but the log has no row ids of the file".to_owned()));
            }
            let vector = batch
                .deletion_vector(row)
                .and_then(|vector| vector.map(|vector| lakebed_core::dv::location(&vector)).transpose());
            if !self.has_vectors && with_vector.value(row) {
                let message = "it has a deletion vector, but the protocol lacks the feature deletionVectors, so readers may \
                     return its deleted rows";
                self.found.report(invalid(message.to_owned()));
            }
            if let Err(error) = vector {
                self.found.report(Finding::new(FindingKind::DeletionVectorInvalid, error.message()).file(path));
            }
        }
        for (physical, name, data_type) in &self.partitions {
            if batch.partition_values(physical, *data_type).is_ok() {
                continue;
            }
            for row in 0..batch.len() {
                if let Err(error) = batch.slice(row, 1).partition_values(physical, *data_type) {
                    let finding = Finding::new(FindingKind::FileEntryInvalid, error.message());
                    self.found.report(finding.file(paths.value(row)).column(name));
                }
            }
        }
        Ok(())
    }
}
