//! Changes of properties, with what they imply, and of the name and the description of a table.

use std::collections::BTreeMap;

use lakebed_core::commit::info::Operation;
use lakebed_core::feature::Feature;
use lakebed_core::feature::downgrade::PROTECTED_BEFORE;
use lakebed_core::feature::given::GivenProperties;
use lakebed_core::property::{TableProperties, known_name};
use lakebed_core::schema::evolve::Mapping;
use lakebed_core::schema::mapping::{self, DROPPED_OR_RENAMED, MappingMode};
use serde_json::json;

use super::draft::ChangeDraft;
use super::statistics::check_statistics;
use crate::definition::unmapped::without_mapping;
use crate::{Error, Result};

/// The properties that record since when a table has in-commit timestamps.
const ICT_ENABLEMENT: [&str; 2] = ["delta.inCommitTimestampEnablementVersion", "delta.inCommitTimestampEnablementTimestamp"];

/// Properties that must stay, because the files or the log of the table depend on them.
const KEPT: [(&str, &str); 6] = [
    (mapping::MAX_COLUMN_ID, "lakebed maintains it"),
    (DROPPED_OR_RENAMED, "it records what happened to the columns"),
    (PROTECTED_BEFORE, "older versions depend on their checkpoints"),
    ("delta.rowTracking.materializedRowIdColumnName", "data files have a column of this name"),
    ("delta.rowTracking.materializedRowCommitVersionColumnName", "data files have a column of this name"),
    (
        mapping::MODE,
        "data files have the physical names of the columns; drop the table feature columnMapping, which rewrites them",
    ),
];

impl ChangeDraft {
    pub(super) fn set_properties(&mut self, properties: &BTreeMap<String, String>) -> Result<()> {
        if properties.is_empty() {
            return Err(Error::invalid_input("name at least one property to set"));
        }
        let given = GivenProperties::parse(properties.iter().map(|(name, value)| (name.as_str(), value.as_str())))?;
        let before = self.properties()?;
        self.metadata.configuration.extend(given.configuration.clone());
        self.features.extend(given.features);
        let after = self.properties()?;
        self.change_mapping_mode(&before, &after)?;
        self.check_newly_iceberg(&before, &after)?;
        if let (Some(list), true) =
            (&after.data_skipping_stats_columns, given.configuration.contains_key("delta.dataSkippingStatsColumns"))
        {
            check_statistics(&self.schema, list).map_err(Error::of_caller)?;
        }
        if after.row_tracking && (before.row_tracking_suspended || after.row_tracking_suspended) {
            return Err(Error::invalid_input(
                "property delta.enableRowTracking: files get no row ids while delta.rowTrackingSuspended is true; unset that property \
                 in a call of its own first",
            ));
        }
        if before.in_commit_timestamps && !after.in_commit_timestamps {
            self.forget_enablement();
        }
        self.record(Operation::new("SET TBLPROPERTIES").with("properties", json!(properties).to_string()));
        Ok(())
    }

    pub(super) fn unset_properties(&mut self, names: &[String], if_exists: bool) -> Result<()> {
        if names.is_empty() {
            return Err(Error::invalid_input("name at least one property to unset"));
        }
        let (mut official, mut missing) = (Vec::with_capacity(names.len()), Vec::new());
        for name in names {
            let spelled = known_name(name).unwrap_or(name).to_owned();
            if spelled.to_lowercase().starts_with("delta.constraints.") {
                return Err(Error::invalid_input(format!("property {name}: drop the constraint instead")));
            }
            let is_set = self.metadata.property(&spelled).is_some();
            if let Some((_, why)) = KEPT.iter().find(|(kept, _)| is_set && kept.eq_ignore_ascii_case(&spelled)) {
                return Err(Error::invalid_input(format!("property {spelled} cannot be unset: {why}")));
            }
            if !is_set {
                missing.push(name.as_str());
            }
            official.push(spelled);
        }
        if !missing.is_empty() && !if_exists {
            return Err(Error::invalid_input(format!("the table does not set these properties: {}", missing.join(", "))));
        }
        if missing.len() == names.len() {
            return Ok(());
        }
        let before = self.properties()?;
        official.iter().for_each(|name| drop(self.metadata.configuration.remove(name)));
        if before.in_commit_timestamps && !self.properties()?.in_commit_timestamps {
            self.forget_enablement();
        }
        self.record(Operation::new("UNSET TBLPROPERTIES").with_names("properties", &official).with("ifExists", if_exists));
        Ok(())
    }

    pub(super) fn set_name(&mut self, name: Option<&str>) {
        if self.metadata.name.as_deref() != name {
            self.metadata.name = name.map(str::to_owned);
            self.record(Operation::new("UPDATE TABLE METADATA").with("name", name));
        }
    }

    /// Sets the description. Delta Spark records it as a property named `comment`.
    pub(super) fn set_description(&mut self, description: Option<&str>) {
        if self.metadata.description.as_deref() == description {
            return;
        }
        self.metadata.description = description.map(str::to_owned);
        self.record(match description {
            Some(text) => Operation::new("SET TBLPROPERTIES").with("properties", json!({ "comment": text }).to_string()),
            None => {
                Operation::new("UNSET TBLPROPERTIES").with("properties", json!(["comment"]).to_string()).with("ifExists", true)
            }
        });
    }

    pub(super) fn add_feature(&mut self, name: &str) -> Result<()> {
        let feature = Feature::find(name.trim_start_matches("delta.feature."))
            .ok_or_else(|| Error::invalid_input(format!("there is no table feature {name}")))?;
        if feature.name == "clustering" {
            return Err(Error::invalid_input("table feature clustering: set the clustering columns instead"));
        }
        let property = format!("delta.feature.{}", feature.name);
        self.features.insert(feature.name.to_owned());
        self.record(Operation::new("SET TBLPROPERTIES").with("properties", json!({ property: "supported" }).to_string()));
        Ok(())
    }

    fn forget_enablement(&mut self) {
        ICT_ENABLEMENT.iter().for_each(|name| drop(self.metadata.configuration.remove(*name)));
    }

    /// PROTOCOL "Column Mapping": a table with files can get the mode `name`. Its files have the
    /// logical names, so these become the physical names.
    fn change_mapping_mode(&mut self, before: &TableProperties, after: &TableProperties) -> Result<()> {
        let (old, new) = (before.column_mapping_mode, after.column_mapping_mode);
        match (old, new) {
            (old, new) if old == new => return Ok(()),
            (MappingMode::None, MappingMode::Name) => {}
            (MappingMode::None, _) => {
                return Err(Error::invalid_input(
                    "property delta.columnMapping.mode: only a new table can have the mode id; set it to name",
                ));
            }
            (old, new) => {
                let remedy = match new {
                    MappingMode::None => "drop the table feature columnMapping, which rewrites them",
                    _ => "write the rows to a new table",
                };
                return Err(Error::invalid_input(format!(
                    "property delta.columnMapping.mode: it is {old} and cannot become {new}, because the data files have the \
                     physical names of the columns; {remedy}"
                )));
            }
        }
        let mut mapping = Mapping {
            max_column_id: before.column_mapping_max_column_id.unwrap_or(0),
            new_name: None::<fn() -> String>,
            nested_ids: after.iceberg_compat_v2,
        };
        self.schema = mapping.complete(&without_mapping(&self.schema), new);
        let highest = Some(mapping.max_column_id.to_string());
        self.metadata.configuration.insert(mapping::MAX_COLUMN_ID.to_owned(), highest);
        Ok(())
    }
}
