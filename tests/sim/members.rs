//! The changes of a version. If the commit has user metadata, this is one change. Otherwise these
//! are all changes with rows in its files.

use super::history::Version;
use super::journal::Attempt;
use super::work::Work;

/// Returns the changes of this version; none if they cannot be found out.
pub(crate) fn members<'a>(version: &Version, attempts: &'a [Attempt]) -> Option<Vec<&'a Work>> {
    let mut works = attempts.iter().map(|attempt| &attempt.work);
    if let Some(id) = &version.id {
        return works.find(|work| work.id == *id).map(|work| vec![work]);
    }
    let mut members: Vec<&Work> = Vec::new();
    for file in &version.added {
        let member = works.clone().find(|work| work.may_share && file.iter().all(|row| work.deed.rows.contains(row)))?;
        if members.iter().all(|known| known.id != member.id) {
            members.push(member);
        }
    }
    Some(members).filter(|members| !members.is_empty())
}
