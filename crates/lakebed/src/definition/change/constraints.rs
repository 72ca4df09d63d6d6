//! Changes of CHECK constraints.

use lakebed_core::commit::info::Operation;
use lakebed_expr::{Options, filter_schema, parse_filter};

use super::draft::{ChangeDraft, RowCheck};
use crate::{Error, Result};

const PREFIX: &str = "delta.constraints.";

/// The name that Spark gives to the check of lengths.
const OF_LENGTHS: &str = "__CHAR_VARCHAR_STRING_LENGTH_CHECK__";

impl ChangeDraft {
    pub(super) fn add_constraint(&mut self, name: &str, condition: &str) -> Result<()> {
        let within = |error: Error| error.within(format!("constraint {name}"));
        if name.trim().is_empty() {
            return Err(Error::invalid_input(format!("constraint {name:?}: its name is empty")));
        }
        if name.eq_ignore_ascii_case(OF_LENGTHS) {
            return Err(within(Error::invalid_input("Spark uses this name itself; choose another one")));
        }
        if let Some((key, old)) = self.constraint(name) {
            let name = key.trim_start_matches(PREFIX);
            let message = format!("constraint {name}: the table has a constraint of this name already: {old}; drop it first");
            return Err(Error::invalid_input(message));
        }
        // Rows are checked with the time of the commit. Here only the syntax and the names count.
        parse_filter(condition, &filter_schema(&self.schema)?, &Options { now_ms: Some(0) }).map_err(within)?;
        self.checks
            .push(RowCheck::Every { what: format!("CHECK constraint {name} ({condition})"), condition: condition.to_owned() });
        self.metadata.configuration.insert(format!("{PREFIX}{}", name.to_lowercase()), Some(condition.to_owned()));
        self.record(Operation::new("ADD CONSTRAINT").with("name", name).with("expr", condition));
        Ok(())
    }

    pub(super) fn drop_constraint(&mut self, name: &str, if_exists: bool) -> Result<()> {
        let Some((key, condition)) = self.constraint(name) else {
            if if_exists {
                return Ok(());
            }
            let constraints = self.properties()?.constraints;
            let names: Vec<&str> = constraints.iter().map(|(name, _)| name.as_str()).collect();
            let there = if names.is_empty() { "it has none".to_owned() } else { format!("there are: {}", names.join(", ")) };
            return Err(Error::invalid_input(format!("the table has no constraint {name}; {there}")));
        };
        self.metadata.configuration.remove(&key);
        self.record(Operation::new("DROP CONSTRAINT").with("name", name).with("expr", condition).with("existed", "true"));
        Ok(())
    }

    /// Returns the property and the condition of a constraint. The case of its name does not count.
    fn constraint(&self, name: &str) -> Option<(String, String)> {
        let wanted = format!("{PREFIX}{name}").to_lowercase();
        let found = self.metadata.configuration.iter().find(|(key, value)| value.is_some() && key.to_lowercase() == wanted);
        found.and_then(|(key, value)| Some((key.clone(), value.clone()?)))
    }
}
