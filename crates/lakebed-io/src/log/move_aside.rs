//! Moves a broken file of the log to a folder that no reader looks into. Nothing is lost.

use lakebed_core::error::Result;
use lakebed_core::path::LOG_DIR;
use object_store::ObjectStoreExt;

use super::hadoop_checksum_name;
use crate::env::Env;
use crate::store::Store;

/// The folder below the log that holds files that a repair moved aside.
pub const DAMAGED_DIR: &str = "_damaged";

/// Moves a file of the log aside, and returns its new name below the log. A file that does not
/// exist is not moved. On the local disk, the checksum that Hadoop keeps beside the file is deleted,
/// because a later file of the same name would not match it.
pub async fn move_aside(store: &Store, env: &Env, name: &str) -> Result<Option<String>> {
    let path = store.log_path(name)?;
    // The end of the name keeps readers that search subfolders from taking it for a file of the log.
    let moved = format!("{DAMAGED_DIR}/{name}.{}.damaged", env.new_uuid());
    let target = store.path_of(&format!("{LOG_DIR}/{moved}"))?;
    let is_local = store.local_path(&path).is_some();
    if is_local {
        match store.get(&path).await {
            Ok(bytes) => store.put_new(&target, bytes).await?,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error),
        }
    } else {
        match store.head(&path).await {
            Ok(_) => {}
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error),
        }
        store.object_store().copy(&path, &target).await.map_err(|error| store.failed(&error, &path))?;
    }
    let mut gone = vec![path];
    if is_local {
        gone.push(store.log_path(&hadoop_checksum_name(name))?);
    }
    store.delete(&gone).await?;
    Ok(Some(moved))
}
