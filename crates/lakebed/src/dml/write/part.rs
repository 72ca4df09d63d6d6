//! Writes the rows of one part of a write to new files. The whole write is a part too.

use std::sync::Arc;

use lakebed_expr::Filter;
use lakebed_io::env::Env;
use lakebed_io::store::Store;

use crate::rows::effects::Effects;
use crate::rows::target::Target;
use crate::write::OnLossy;
use crate::write::account;
use crate::write::check::Check;
use crate::write::files::FileSink;
use crate::write::identity_column::PartNumber;
use crate::write::incoming::Incoming;
use crate::write::input::write_rows;
use crate::write::rules::WriteRules;
use crate::write::unify_schema::unify_schema;
use crate::{RecordBatchStream, Result};

/// Writes parts of a write.
pub(super) struct PartWriter<'a> {
    pub(super) store: &'a Store,
    pub(super) env: &'a Env,
    pub(super) target: &'a Target,
    /// The condition that selects the replaced rows, if there is one.
    pub(super) condition: Option<&'a Arc<Filter>>,
    pub(super) on_lossy: OnLossy,
}

impl PartWriter<'_> {
    /// Writes the rows of one part. If this fails, no file is left.
    pub(super) async fn write(&self, part: PartNumber, data: RecordBatchStream) -> Result<Effects> {
        let Self { store, env, target, on_lossy, .. } = *self;
        let rules = &target.rules;
        let check = self.condition.map(|filter| check(rules, filter)).transpose()?;
        let incoming = Incoming::new(Arc::clone(rules), &data.schema(), on_lossy)?.also_checking(check).of_part(part);
        let incoming = Arc::new(incoming);
        let mut sink = FileSink::new(store.clone(), env.clone(), Arc::clone(rules), target.files.clone())?;
        let rows = write_rows(unify_schema(data, on_lossy), Arc::clone(&incoming), &mut sink).await;
        let (new_rows, added) = sink.finish_after(rows).await?;
        let added = account::checked(store, new_rows, added).await?;
        Ok(Effects { added, new_rows, marks: incoming.identity_marks(new_rows), ..Effects::default() })
    }
}

/// Returns the check that new rows meet the condition that selects the replaced rows. Otherwise the
/// same overwrite could not replace them again.
fn check(rules: &WriteRules, filter: &Arc<Filter>) -> Result<Check> {
    Check::of_filter(&rules.table, "the predicate of the overwrite".to_owned(), filter.as_ref().clone(), &rules.arrow_schema)
}
