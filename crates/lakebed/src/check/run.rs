//! Runs the levels of a check, the shallowest first.

use lakebed_io::checkpoint::read_head_actions;

use super::commits::CheckedLog;
use super::damaged::damage;
use super::finding::{Finding, FindingKind};
use super::findings::Findings;
use super::newest::{Newest, newest_readable};
use super::options::{CheckOptions, Level};
use super::outcome::CheckOutcome;
use super::progress::{CheckWatcher, LevelReporter};
use super::state::CheckedState;
use super::{files, footers, history, rows, state};
use crate::{ErrorKind, Result, Table};

/// The most times that the log is listed, if others clean it up meanwhile.
const MOST_TRIES: usize = 4;

/// Checks the newest version of a table.
pub(super) async fn run(table: &Table, options: &CheckOptions, watcher: Option<CheckWatcher>) -> Result<CheckOutcome> {
    let mut findings = Findings::new(options.limit);
    let begin = |level, total| LevelReporter::begin(watcher.as_ref(), level, total);
    let mut log = CheckedLog::list(table.store(), &mut findings).await?;
    for attempt in 1.. {
        let needed = log.commits().filter(|path| path.version >= log.first_needed()).count();
        log.check(table.store(), &mut findings, &mut begin(Level::Log, Some(needed as u64))).await?;
        if !log.has_changed || attempt == MOST_TRIES {
            break;
        }
        findings = Findings::new(options.limit);
        log = CheckedLog::list(table.store(), &mut findings).await?;
    }
    let newest = newest_readable(table, &log.listed, &log.broken, &Default::default()).await?;
    let opened = newest.snapshot.as_ref().map(crate::Snapshot::version);
    report_unopened(table, &log, newest, &mut findings).await?;
    let mut checked = None;
    if options.level >= Level::State && opened.is_some() {
        checked = state::check(table, &log, &mut findings, &mut begin(Level::State, None)).await?;
    }
    let mut row_count = None;
    if let Some(checked) = &checked {
        row_count = check_content(checked, options.level, &mut findings, &watcher).await?;
    }
    if options.level >= Level::History {
        let left = log.commits().filter(|path| !log.read.contains(&path.version)).count();
        let mut reporter = begin(Level::History, Some(left as u64));
        history::check(table, &mut log, checked.as_ref(), &mut findings, &mut reporter).await?;
    }
    let mut listed = findings.listed;
    listed.sort_by_key(|finding| finding.kind);
    Ok(CheckOutcome {
        version: log.newest,
        checked_version: match options.level {
            Level::Log => opened,
            _ => checked.as_ref().map(|state| state.snapshot.version()),
        },
        level: options.level,
        findings: listed,
        counts: findings.counts,
        files: checked.as_ref().map(|state| state.files),
        rows: row_count,
    })
}

/// Checks the files of a version as deep as the level says. Returns the number of rows that were
/// read.
async fn check_content(
    checked: &CheckedState,
    level: Level,
    findings: &mut Findings,
    watcher: &Option<CheckWatcher>,
) -> Result<Option<u64>> {
    let begin = |level| LevelReporter::begin(watcher.as_ref(), level, Some(checked.files));
    if level >= Level::Files {
        files::check(checked, findings, &mut begin(Level::Files)).await?;
    }
    if level >= Level::Footers {
        footers::check(checked, findings, &mut begin(Level::Footers)).await?;
    }
    if level < Level::Rows {
        return Ok(None);
    }
    rows::check(checked, findings, &mut begin(Level::Rows)).await.map(Some)
}

/// Reports why the newest version could not be opened, unless a finding says it already.
async fn report_unopened(table: &Table, log: &CheckedLog, newest: Newest, findings: &mut Findings) -> Result<()> {
    let is_known = findings.has(&[FindingKind::CommitMissing, FindingKind::CommitUnreadable]);
    let Some(error) = newest.error else {
        if newest.snapshot.is_none() && !is_known {
            let message = "neither the newest version nor one of the versions before it can be rebuilt";
            findings.report(Finding::new(FindingKind::StateUnreadable, message).version(log.newest));
        }
        return Ok(());
    };
    if matches!(error.kind(), ErrorKind::UnsupportedFeature { .. }) {
        findings.report(Finding::new(FindingKind::FeatureUnsupported, error.message()).version(log.newest));
        return Ok(());
    }
    if let Some(files) = log.checkpoints.last()
        && let Err(cause) = damage(read_head_actions(table.store(), files).await)?
    {
        findings.report(state::checkpoint_unreadable(files, &cause));
        findings.report(Finding::new(FindingKind::StateUnreadable, error.message()).version(log.newest));
        return Ok(());
    }
    findings.report(Finding::new(FindingKind::DefinitionInvalid, error.message()).version(log.newest));
    Ok(())
}
