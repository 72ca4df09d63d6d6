//! Symlink manifests: lists of data files for engines that read Hive tables by them, such as Athena,
//! Presto and Redshift.
//!
//! `_symlink_format_manifest/manifest` has the paths of all files, one in each line. In a partitioned
//! table each partition has a manifest, in a folder with the names of the partition's folder. The
//! files and their content are those of Delta Spark. Begin with [`Snapshot::symlink_manifest`].

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::Array;
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use lakebed_core::action::Action;
use lakebed_core::action::json::parse_commit;
use lakebed_core::log::files::FileBatch;
use lakebed_core::path::{FilePath, commit_name, hive};
use lakebed_core::schema::mapping::MappingMode;
use object_store::path::Path;

use crate::scan::plan::{Plan, PlanOptions};
use crate::{Error, Result, Snapshot};

/// The folder of the manifests.
pub(crate) const MANIFEST_DIR: &str = "_symlink_format_manifest";
/// The name of a manifest.
const MANIFEST: &str = "manifest";
/// The number of requests at a time.
const AT_ONCE: usize = 32;

/// The result of writing manifests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ManifestOutcome {
    /// The number of written manifests.
    pub written: u64,
    /// The number of deleted manifests, of partitions without files.
    pub deleted: u64,
}

/// The lines of manifests, by the folder of the partition.
type Manifests = BTreeMap<String, String>;

impl Snapshot {
    /// Writes the manifests of all files of this version, and deletes those of partitions that have
    /// no files.
    ///
    /// # Errors
    /// Tables with deletion vectors or with column mapping are refused, because the engines that
    /// read manifests would return wrong rows.
    pub async fn symlink_manifest(&self) -> Result<ManifestOutcome> {
        let manifests = self.manifests(None).await?;
        let mut stale = self.existing_manifests().await?;
        manifests.keys().for_each(|folder| _ = stale.remove(folder));
        self.put_manifests(manifests, stale).await
    }

    /// Writes the manifests of the partitions that the commit of this version changed. If there are
    /// no manifests yet, all are written.
    pub(crate) async fn update_symlink_manifest(&self, lines: &Bytes) -> Result<ManifestOutcome> {
        let folder = self.store().path_of(MANIFEST_DIR)?;
        let found = self.store().list_folder(&folder, None).await?;
        let Some(changed) = self.changed_folders(lines)?.filter(|_| !found.objects.is_empty() || !found.folders.is_empty())
        else {
            return self.symlink_manifest().await;
        };
        if changed.is_empty() {
            return Ok(ManifestOutcome::default());
        }
        let manifests = self.manifests(Some(&changed)).await?;
        let stale = changed.into_iter().filter(|folder| !manifests.contains_key(folder)).collect();
        self.put_manifests(manifests, stale).await
    }

    /// Returns the folders of the partitions in which a commit adds or removes files. It returns
    /// `None` if the commit does not say it.
    fn changed_folders(&self, lines: &Bytes) -> Result<Option<BTreeSet<String>>> {
        let mut changed = BTreeSet::new();
        let columns = self.partition_columns();
        for action in parse_commit(lines, &commit_name(self.version()))? {
            let values = match &action {
                Action::Add(add) => &add.partition_values,
                Action::Remove(remove) => match &remove.partition_values {
                    Some(values) if columns.iter().all(|name| values.contains_key(name)) => values,
                    _ => return Ok(None),
                },
                Action::Metadata(_) => return Ok(None),
                _ => continue,
            };
            let value = |name: &String| values.get(name).and_then(|value| value.as_deref());
            changed.insert(hive::partition_dir(columns.iter().map(|name| (name.as_str(), value(name)))));
        }
        Ok(Some(changed))
    }

    /// Returns the manifests of these folders, or of all.
    async fn manifests(&self, folders: Option<&BTreeSet<String>>) -> Result<Manifests> {
        if self.mapping_mode() != MappingMode::None {
            return Err(self.no_manifest("the table has column mapping, so its files have other column names"));
        }
        let mut manifests = Manifests::new();
        if self.partition_columns().is_empty() {
            manifests.insert(String::new(), String::new());
        }
        let options = PlanOptions { whole_actions: true, ..PlanOptions::default() };
        let mut files = Plan::new(self, None, options)?.files();
        while let Some(batch) = files.try_next().await? {
            if batch.has_deletion_vector()?.true_count() > 0 {
                return Err(self.no_manifest("files of the table have deletion vectors, so their deleted rows would come back"));
            }
            self.add_files(&batch, folders, &mut manifests)?;
        }
        Ok(manifests)
    }

    fn add_files(&self, batch: &FileBatch, folders: Option<&BTreeSet<String>>, manifests: &mut Manifests) -> Result<()> {
        let columns = self.partition_columns();
        let values = columns.iter().map(|name| batch.partition_texts(name)).collect::<Result<Vec<_>>>()?;
        let root = self.store().hadoop_path();
        for (row, path) in batch.paths()?.iter().enumerate() {
            let of_row = values.iter().map(|texts| texts.is_valid(row).then(|| texts.value(row)));
            let folder = hive::partition_dir(columns.iter().map(String::as_str).zip(of_row));
            if folders.is_some_and(|folders| !folders.contains(&folder)) {
                continue;
            }
            let lines = manifests.entry(folder).or_default();
            match FilePath::parse(path.unwrap_or_default())? {
                FilePath::Relative(name) => lines.push_str(&format!("{root}/{name}\n")),
                absolute => lines.push_str(&format!("{absolute}\n").replacen("file:///", "file:/", 1)),
            }
        }
        Ok(())
    }

    fn no_manifest(&self, why: &str) -> Error {
        Error::invalid_input(format!("{}: {why}: such a table can have no symlink manifest", self.url()))
    }

    async fn put_manifests(&self, manifests: Manifests, stale: BTreeSet<String>) -> Result<ManifestOutcome> {
        let store = self.store();
        let outcome = ManifestOutcome { written: manifests.len() as u64, deleted: stale.len() as u64 };
        let put = |(folder, lines): (String, String)| async move {
            store.put(&manifest_path(self, &folder)?, Bytes::from(lines)).await
        };
        stream::iter(manifests).map(put).buffer_unordered(AT_ONCE).try_collect::<Vec<()>>().await?;
        let stale = stale.iter().map(|folder| manifest_path(self, folder)).collect::<Result<Vec<Path>>>()?;
        store.delete(&stale).await?;
        Ok(outcome)
    }

    /// Returns the folders of partitions that have a manifest.
    async fn existing_manifests(&self) -> Result<BTreeSet<String>> {
        let root = self.store().path_of(MANIFEST_DIR)?;
        let (mut found, mut folders) = (BTreeSet::new(), vec![root.clone()]);
        while !folders.is_empty() {
            let list = |folder: Path| async move { self.list_all(folder).await };
            let listed: Vec<_> = stream::iter(std::mem::take(&mut folders)).map(list).buffered(AT_ONCE).try_collect().await?;
            for (objects, inner) in listed {
                folders.extend(inner);
                let name =
                    |path: &Path| path.as_ref().strip_prefix(root.as_ref()).map(|rest| rest.trim_start_matches('/').to_owned());
                for name in objects.iter().filter_map(name) {
                    match name.rsplit_once('/') {
                        Some((folder, MANIFEST)) => _ = found.insert(folder.to_owned()),
                        None if name == MANIFEST => _ = found.insert(String::new()),
                        _ => {}
                    }
                }
            }
        }
        Ok(found)
    }

    async fn list_all(&self, folder: Path) -> Result<(Vec<Path>, Vec<Path>)> {
        let (mut objects, mut folders, mut page) = (Vec::new(), Vec::new(), None);
        loop {
            let found = self.store().list_folder(&folder, page).await?;
            objects.extend(found.objects.into_iter().map(|object| object.location));
            folders.extend(found.folders);
            page = found.next_page;
            if page.is_none() {
                return Ok((objects, folders));
            }
        }
    }
}

fn manifest_path(snapshot: &Snapshot, folder: &str) -> Result<Path> {
    let slash = if folder.is_empty() { "" } else { "/" };
    snapshot.store().path_of(&format!("{MANIFEST_DIR}/{folder}{slash}{MANIFEST}"))
}
