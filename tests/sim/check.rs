//! The checker of simulations. It compares the journal of the actors with the log, and the log with
//! the meaning of the changes.
//!
//! The versions of the log are the one order that everything must agree with. Begin with [`check`].

use std::collections::{BTreeMap, BTreeSet};

use lakebed::ErrorKind;
use lakebed_core::ConflictKind;
use lakebed_tests::deeds::Verb;

use super::actors::ROOT;
use super::history::Version;
use super::journal::{Attempt, Ended, Notes, Told};
use super::members::members;
use super::work::{Row, Work};
use super::world::World;

/// Returns all errors of a simulation that has ended.
pub(crate) fn check(world: &World, history: &[Version]) -> Vec<String> {
    let notes = world.journal.notes();
    let changes = history.iter().map(|version| members(version, &notes.attempts).unwrap_or_default()).collect();
    let mut check = Check { world, history, changes, notes: &notes, problems: Vec::new() };
    check.rows();
    check.properties();
    check.acknowledged();
    check.counts();
    check.failures();
    check.sights();
    check.order();
    check.numbers();
    check.leftovers();
    check.problems
}

struct Check<'a> {
    world: &'a World,
    history: &'a [Version],
    /// The changes of each version.
    changes: Vec<Vec<&'a Work>>,
    notes: &'a Notes,
    problems: Vec<String>,
}

impl<'a> Check<'a> {
    fn fault(&mut self, problem: impl Into<String>) {
        self.problems.push(problem.into());
    }

    /// Checks that each version has the rows of the version before, changed as its changes say.
    fn rows(&mut self) {
        let mut rows: Vec<Row> = Vec::new();
        for (number, (version, changes)) in self.history.iter().zip(&self.changes).enumerate() {
            if changes.is_empty() && !version.operation.starts_with("VACUUM ") {
                return self.fault(format!("version {number} is nobody's: {:?}", version.id));
            }
            let before = rows.clone();
            rows = changes.iter().fold(rows, |rows, work| work.apply(&rows, &self.world.shape));
            if let Some(told) = version.told_by_changes(&before).filter(|told| *told != version.rows) {
                return self
                    .fault(format!("version {number}: its changes make {told:?} of {before:?}, but it has {:?}", version.rows));
            }
            if rows != version.rows {
                let (changes, found) = (names(changes), &version.rows);
                return self.fault(format!("version {number} ({changes}): should have {rows:?}, has {found:?}"));
            }
        }
    }

    /// Checks that each version has the property of the version before, changed as its changes say.
    fn properties(&mut self) {
        let mut expected = None;
        for (number, (version, changes)) in self.history.iter().zip(&self.changes).enumerate() {
            expected = changes.iter().fold(expected, |before, work| self.property_after(&before, work));
            if expected != version.property {
                let (changes, found) = (names(changes), &version.property);
                return self.fault(format!("version {number} ({changes}): should be of {expected:?}, is of {found:?}"));
            }
        }
    }

    fn property_after(&self, before: &Option<String>, work: &Work) -> Option<String> {
        work.deeds().fold(before.clone(), |before, deed| match deed.verb {
            Verb::SetProperty(value) => Some(value.to_string()),
            Verb::Restore(version) => self.history[version as usize].property.clone(),
            _ => before,
        })
    }

    /// Checks that a version contains the change of every writer that got this version as its
    /// result, and that no version is the result of two attempts at the same change.
    fn acknowledged(&mut self) {
        let mut told = BTreeSet::new();
        for Attempt { work, ended, .. } in &self.notes.attempts {
            match ended.as_ref().map(|ended| &ended.told) {
                Some(Told::Committed(version)) => {
                    let found = self.changes.get(*version as usize).map_or(&[][..], Vec::as_slice);
                    if !is_among(found, work) {
                        let found = names(found);
                        self.fault(format!("{} was told that it is version {version}, which is {found}", work.id));
                    }
                    if !told.insert((*version, &work.id)) {
                        self.fault(format!("version {version} was told to two who both tried {}", work.id));
                    }
                }
                Some(Told::Known(version)) if !self.is_known(work, self.known_at(work, *version)) => {
                    self.fault(format!("{} was told that version {version} knows it already", work.id));
                }
                Some(Told::Nothing(version)) if !self.changes_nothing(work, *version) => {
                    self.fault(format!(
                        "{} ({:?}) was told that it changes nothing of version {version}",
                        work.id, work.deed.verb
                    ));
                }
                _ => {}
            }
        }
    }

    fn changes_nothing(&self, work: &Work, version: u64) -> bool {
        self.history.get(version as usize).is_some_and(|version| {
            work.apply(&version.rows, &self.world.shape) == version.rows
                && self.property_after(&version.property, work) == version.property
        })
    }

    /// Returns the version at which the identifier of a change must be known. A transaction loads the
    /// version after it has found its identifier. A listing that lags may then show an older version.
    fn known_at(&self, work: &Work, version: u64) -> u64 {
        if self.world.is_stale && work.then.is_some() { self.history.len() as u64 } else { version }
    }

    fn is_known(&self, work: &Work, version: u64) -> bool {
        let Some((app_id, number)) = &work.application else { return false };
        let until = self.history.iter().take(version as usize + 1);
        until.flat_map(|version| &version.applications).any(|(app, known)| app == app_id && known >= number)
    }

    /// Returns whether a version sets the transaction identifier of the application of this change.
    fn sets_application_of(&self, work: &Work, version: u64) -> bool {
        let Some((app_id, _)) = &work.application else { return false };
        self.history.get(version as usize).is_some_and(|version| version.applications.iter().any(|(app, _)| app == app_id))
    }

    /// Checks that no change is in the log twice, and that a change that failed for certain is not
    /// in the log.
    fn counts(&mut self) {
        let mut by_id: BTreeMap<&str, Vec<&Attempt>> = BTreeMap::new();
        self.notes.attempts.iter().for_each(|attempt| by_id.entry(&attempt.work.id).or_default().push(attempt));
        for (id, attempts) in by_id {
            let count = self.changes.iter().filter(|changes| changes.iter().any(|work| work.id == id)).count();
            let failed_for_sure =
                |attempt: &&Attempt| attempt.ended.as_ref().is_some_and(|ended| ended.told.has_failed_for_sure());
            if count > 1 {
                self.fault(format!("{id} was committed {count} times"));
            }
            if count > 0 && attempts.iter().all(failed_for_sure) {
                self.fault(format!("{id} was committed, though its writer was told that it was not"));
            }
        }
    }

    /// Checks that changes fail only for valid reasons.
    fn failures(&mut self) {
        for Attempt { work, ended, began } in &self.notes.attempts {
            let Some(Ended { told: Told::Failed(kind, message), was_hurt, .. }) = ended else { continue };
            let is_fair = match kind {
                // A transaction is not repeated when another process of its application commits first.
                ErrorKind::CommitConflict { kind: ConflictKind::ConcurrentTransaction, winner_version, .. }
                    if work.then.is_some() =>
                {
                    self.sets_application_of(work, *winner_version)
                }
                ErrorKind::CommitConflict { kind: ConflictKind::MetadataChanged, winner_version, .. } => {
                    work.minds_definition() && self.history.get(*winner_version as usize).is_some_and(|winner| winner.defines)
                }
                ErrorKind::CommitConflict { winner_version, .. } => self.may_conflict(work, *winner_version),
                ErrorKind::Store { not_found: true, .. } => *was_hurt || self.hides_checkpoints(),
                ErrorKind::CommitUnknown { .. } | ErrorKind::Store { .. } => *was_hurt,
                // Only the rows of a table that exists can be changed.
                ErrorKind::TableNotFound if work.needs_table() => self.world.is_stale || !self.was_seen_before(*began),
                ErrorKind::Corrupt { .. } | ErrorKind::VersionNotFound => self.world.is_stale,
                _ => false,
            };
            if !is_fair {
                self.fault(format!("{} ({:?}) failed without need: {kind:?}: {message}", work.id, work.deed.verb));
            }
        }
        for failure in &self.notes.failures {
            let is_fair = match &failure.kind {
                ErrorKind::Store { not_found: true, .. } => failure.was_hurt || failure.may_be_gone || self.hides_checkpoints(),
                ErrorKind::CommitUnknown { .. } | ErrorKind::Store { .. } => failure.was_hurt,
                ErrorKind::TableNotFound if self.world.is_stale => !failure.had_hint,
                ErrorKind::TableNotFound => !self.was_seen_before(failure.began),
                ErrorKind::VersionNotFound => self.world.is_stale || failure.may_be_gone,
                // The pages of a listing that lags behind may contradict each other.
                ErrorKind::Corrupt { .. } => self.world.is_stale,
                _ => false,
            };
            if !is_fair {
                self.fault(format!("{} could not read: {:?}: {}", failure.who, failure.kind, failure.message));
            }
        }
    }

    /// Returns whether a listing may lag so far behind that it lacks the checkpoint for which
    /// commits were cleaned up.
    fn hides_checkpoints(&self) -> bool {
        self.world.is_stale && self.world.kept_from() > 0
    }

    fn may_conflict(&self, work: &Work, winner: u64) -> bool {
        let Some(version) = self.history.get(winner as usize) else { return false };
        let mut files = version.added.iter().chain(&version.removed);
        files.any(|file| work.minds(file, &self.world.shape))
    }

    fn was_seen_before(&self, mark: u64) -> bool {
        self.facts().iter().any(|fact| fact.ended < mark)
    }

    /// Checks that a version has the same rows for every reader.
    fn sights(&mut self) {
        for sight in &self.notes.sights {
            let (who, number) = (&sight.who, sight.version);
            let Some(version) = self.history.get(number as usize) else {
                self.fault(format!("{who} saw version {number}, which is not there"));
                continue;
            };
            if let Some(rows) = sight.rows.as_ref().filter(|rows| **rows != version.rows) {
                self.fault(format!("{who} read {rows:?} in version {number}, which has {:?}", version.rows));
            }
        }
    }

    /// Checks the order of versions: work that began after other work had ended sees the same or a
    /// later version. No actor goes back, and every actor reads its own writes.
    fn order(&mut self) {
        if self.world.is_stale {
            return;
        }
        let facts = self.facts();
        for fact in &facts {
            let known = facts.iter().filter(|earlier| earlier.ended < fact.began).map(|earlier| earlier.version).max();
            let Some(known) = known.filter(|_| fact.is_latest) else { continue };
            let goes_on = if fact.is_commit { fact.version > known } else { fact.version >= known };
            if !goes_on {
                self.fault(format!("{} was at version {} after version {known} was known", fact.who, fact.version));
            }
        }
    }

    fn facts(&self) -> Vec<Fact<'a>> {
        let of_attempt = |attempt: &'a Attempt| {
            let ended = attempt.ended.as_ref()?;
            let (version, is_commit) = match &ended.told {
                Told::Committed(version) => (*version, true),
                Told::Known(version) | Told::Nothing(version) => (*version, false),
                Told::Failed(..) => return None,
            };
            Some((attempt.began, ended.at, version, is_commit))
        };
        let attempts = self.notes.attempts.iter().filter_map(|attempt| {
            let (began, ended, version, is_commit) = of_attempt(attempt)?;
            Some(Fact { who: &attempt.work.id, began, ended, version, is_latest: true, is_commit })
        });
        let sights = self.notes.sights.iter().map(|sight| Fact {
            who: &sight.who,
            began: sight.began,
            ended: sight.ended,
            version: sight.version,
            is_latest: sight.is_latest,
            is_commit: false,
        });
        attempts.chain(sights).collect()
    }

    /// Checks that each commit has an id of its own, a later time, and row ids of its own.
    fn numbers(&mut self) {
        let mut ids = BTreeSet::new();
        let mut last_time = None;
        let mut row_ids: Vec<(i64, i64)> = Vec::new();
        for (number, version) in self.history.iter().enumerate() {
            if !ids.insert(&version.txn_id) {
                self.fault(format!("version {number} has the txnId of another one"));
            }
            if self.world.shape.has_timestamps && version.in_commit_timestamp <= last_time {
                self.fault(format!("version {number}: time {:?} after {last_time:?}", version.in_commit_timestamp));
            }
            last_time = version.in_commit_timestamp;
            if self.world.shape.has_row_ids && version.row_ids.len() != version.new_files {
                self.fault(format!("version {number}: files without row ids"));
            }
            for (first, count) in &version.row_ids {
                if row_ids.iter().any(|(other, taken)| first < &(other + taken) && other < &(first + count)) {
                    self.fault(format!("version {number}: row ids from {first} on are another file's"));
                }
                row_ids.push((*first, *count));
            }
        }
    }

    /// Checks that every file belongs to a version, if no request met a fault and no writer gave
    /// up.
    fn leftovers(&mut self) {
        if self.world.network.has_hurt() || self.notes.attempts.iter().any(|attempt| attempt.ended.is_none()) {
            return;
        }
        let named: BTreeSet<String> = self.history.iter().flat_map(Version::paths).map(|path| format!("{ROOT}/{path}")).collect();
        let paths = self.world.network.with_objects(|objects| objects.paths().map(str::to_owned).collect::<Vec<_>>());
        for path in paths.iter().filter(|path| !path.contains("_delta_log") && !named.contains(*path)) {
            self.fault(format!("{path} is left, though no version has it"));
        }
    }
}

fn is_among(changes: &[&Work], work: &Work) -> bool {
    changes.iter().any(|change| change.id == work.id)
}

fn names(changes: &[&Work]) -> String {
    changes.iter().map(|work| format!("{} {:?}", work.id, work.deed.verb)).collect::<Vec<_>>().join(", ")
}

/// A version that existed.
struct Fact<'a> {
    who: &'a str,
    began: u64,
    ended: u64,
    version: u64,
    /// Whether it was the latest version at some time between.
    is_latest: bool,
    is_commit: bool,
}
