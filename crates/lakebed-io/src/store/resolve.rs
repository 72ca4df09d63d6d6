//! Finds the object of a path in the log. A table is untrusted input, so a path that leads out of
//! its root is refused unless the caller allows it.

use std::sync::PoisonError;

use lakebed_core::error::{Error, Result};
use lakebed_core::path::{AbsolutePath, FilePath};
use object_store::path::Path;

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
