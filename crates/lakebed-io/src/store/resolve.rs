//! Finds the object of a path in the log. A table is untrusted input, so a path that leads out of
//! its root is refused unless the caller allows it.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use ::url::Position;
use lakebed_core::error::{Error, Result};
use lakebed_core::path::{AbsolutePath, FilePath};
use object_store::path::Path;
use percent_encoding::percent_decode_str;

use super::Store;
use super::url::location::{Service, StoreLocation};
use crate::store::local::file_path::file_path;

impl Store {
    /// Returns the object of a path in the log, and its store. This is the same store or, if
    /// absolute paths are allowed, another one.
    pub fn resolve(&self, path: &FilePath) -> Result<(Store, Path)> {
        let absolute = match path {
            FilePath::Relative(relative) => return Ok((self.clone(), self.path_of(relative)?)),
            FilePath::Absolute(absolute) => absolute,
        };
        let location = self.location_of(absolute)?;
        if self.0.connection.service.is_meant_by(&location.service)
            && (self.holds(&location.path) || self.0.options.allow_absolute_paths)
        {
            return Ok((self.clone(), location.path));
        }
        if !self.0.options.allow_absolute_paths {
            if let Some(followed) = self.followed(&location) {
                return Ok((followed, location.path));
            }
            return Err(Error::invalid_input(format!(
                "{path}: this file lies outside the table {}; shallow clones have such files. If you trust the table, allow \
                 absolute paths",
                self.url()
            )));
        }
        let mut others = self.0.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(other) = others.get(&location.service) {
            return Ok((other.clone(), location.path));
        }
        let (service, file) = (location.service.clone(), location.path.clone());
        let other = Self::open_location(location, self.0.options.clone())?;
        others.insert(service, other.clone());
        Ok((other, file))
    }

    /// Follows absolute paths below another folder of the same service from now on, and returns
    /// whether that is possible. Links of the file system must not lead out of that folder.
    pub fn follow(&self, url: &str) -> Result<bool> {
        let location = StoreLocation::of_table(url)?;
        if !self.0.connection.service.is_meant_by(&location.service) {
            return Ok(false);
        }
        let mut followed = self.0.followed.lock().unwrap_or_else(PoisonError::into_inner);
        if !followed.iter().any(|store| *store.root() == location.path) {
            followed.push(self.at_location(location)?);
        }
        Ok(true)
    }

    /// Returns the folders outside of the root into which absolute paths may lead, as URLs.
    pub fn followed_urls(&self) -> Vec<String> {
        let followed = self.0.followed.lock().unwrap_or_else(PoisonError::into_inner);
        followed.iter().map(|store| store.url().to_owned()).collect()
    }

    /// Returns the store below another folder of the same service, with the same connection. It is
    /// `None` for a folder of another service.
    pub fn sibling(&self, url: &str) -> Result<Option<Store>> {
        let location = StoreLocation::of_table(url)?;
        match self.0.connection.service.is_meant_by(&location.service) {
            true => self.at_location(location).map(Some),
            false => Ok(None),
        }
    }

    fn at_location(&self, location: StoreLocation) -> Result<Store> {
        match self.0.connection.is_given {
            true => Ok(Self::from_object_store_with(
                Arc::clone(self.object_store()),
                location.path,
                location.url,
                self.0.options.clone(),
            )),
            false => Self::open_location(location, self.0.options.clone()),
        }
    }

    fn followed(&self, location: &StoreLocation) -> Option<Store> {
        if !self.0.connection.service.is_meant_by(&location.service) {
            return None;
        }
        let followed = self.0.followed.lock().unwrap_or_else(PoisonError::into_inner);
        followed.iter().find(|store| location.path.prefix_matches(store.root())).cloned()
    }

    /// Returns the absolute path of a file below the root, for a log. `name` is spelled as a log
    /// spells it.
    ///
    /// The root is spelled as Hadoop does, with one slash after `file:`, and without escapes that
    /// Hadoop does not make. Delta Spark compares such paths letter by letter.
    pub fn uri_of(&self, name: &str) -> String {
        let url = &self.0.address.url;
        let before = if url.scheme() == "file" { "file:" } else { &url[..Position::BeforePath] };
        let root = percent_decode_str(url.path()).decode_utf8_lossy();
        // A colon is escaped only where it would look like the end of a scheme.
        let root = FilePath::encode(root.trim_end_matches('/')).replace("%3A", ":");
        format!("{before}{root}/{name}")
    }

    /// Returns the root as Hadoop spells it in messages and in the history: decoded, and with a
    /// single slash after `file:`.
    pub fn hadoop_path(&self) -> String {
        match self.local_path(self.root()) {
            Some(path) => format!("file:{}", path.display()),
            None => percent_decode_str(self.url()).decode_utf8_lossy().into_owned(),
        }
    }

    /// Returns whether the root of another store is this root, or lies below it. Links of the file
    /// system are followed.
    pub fn holds_root_of(&self, other: &Store) -> bool {
        self.0.connection.service.is_meant_by(&other.0.connection.service)
            && (self.holds(other.root()) || self.is_local() && real_root(other).starts_with(real_root(self)))
    }

    /// Returns the name below the root of a path in the log. It returns `None` if the path leads
    /// elsewhere, or if its spelling does not show where it leads.
    pub fn name_below_root(&self, path: &FilePath) -> Option<String> {
        let absolute = match path {
            FilePath::Relative(relative) => return Some(relative.clone()),
            FilePath::Absolute(absolute) => absolute,
        };
        let location = self.location_of(absolute).ok()?;
        if self.0.connection.service.is_meant_by(&location.service) {
            self.below_root(&location.path).map(str::to_owned)
        } else {
            None
        }
    }

    /// Returns the rest of an object's path after the root.
    pub fn below_root<'a>(&self, path: &'a Path) -> Option<&'a str> {
        match self.root().as_ref() {
            "" => Some(path.as_ref()),
            root => {
                let rest = path.as_ref().strip_prefix(root)?;
                if rest.is_empty() { Some("") } else { rest.strip_prefix('/') }
            }
        }
    }

    fn location_of(&self, absolute: &AbsolutePath) -> Result<StoreLocation> {
        let here = || Path::parse(&absolute.path).map_err(|error| Error::corrupt(&absolute.path, error));
        let own = match &absolute.scheme {
            None => absolute.authority.is_empty(),
            // In `hdfs:/x` and `s3:/x` the configuration determines the host or bucket. Here the
            // table determines it.
            Some(scheme) => absolute.authority.is_empty() && scheme != "file" && self.0.address.url.scheme() == scheme,
        };
        if own {
            return Ok(StoreLocation {
                service: self.0.connection.service.clone(),
                path: here()?,
                url: self.0.address.url.clone(),
                embedded: Vec::new(),
            });
        }
        StoreLocation::of_parts(absolute.scheme.as_deref().unwrap_or("file"), &absolute.authority, &absolute.path)
    }

    /// Returns whether an object of this service lies below the root. Links of the file system are
    /// followed.
    fn holds(&self, path: &Path) -> bool {
        if path.prefix_matches(self.root()) {
            return true;
        }
        let real = |path: &Path| std::fs::canonicalize(file_path(path));
        self.0.connection.service == Service::Local
            && matches!((real(path), real(self.root())), (Ok(file), Ok(root)) if file.starts_with(&root))
    }
}

/// Returns the root of a local store without links, as far as its folders exist.
fn real_root(store: &Store) -> PathBuf {
    let root = file_path(store.root());
    let real = root.ancestors().find_map(|folder| Some((folder, std::fs::canonicalize(folder).ok()?)));
    match real {
        Some((folder, real)) => real.join(root.strip_prefix(folder).unwrap_or(&root)),
        None => root,
    }
}
