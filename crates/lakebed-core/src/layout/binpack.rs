//! Which files of a partition are put together into larger ones, and which are written anew alone.
//!
//! Two rules keep it from writing the same rows for ever: a bin must leave fewer files than it
//! takes, and no file is written again for the sake of others that are much smaller than it. So
//! each row is written again about as often as the table doubles. Read [`plan`].

/// A file no smaller than this share of the target is left alone.
const LARGE: f64 = 0.75;

/// A file is not written again for others that are together smaller than this share of it.
const WORTH: f64 = 0.25;

/// So many bins stay open for files that come later.
const OPEN_BINS: usize = 32;

/// What is known of a file.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PackedFile {
    /// Its size.
    pub size_bytes: u64,
    /// Its rows with those that are deleted, if the log says how many.
    pub rows: Option<u64>,
    /// Those of them that are deleted.
    pub deleted_rows: u64,
}

/// When files are put together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PackRules {
    /// About how large files become.
    pub target_file_size_bytes: u64,
    /// Fewer files than these are not put together.
    pub min_files: usize,
    /// A file of whose rows a larger share is deleted is written anew in any case.
    pub max_deleted_share: f64,
}

impl PackedFile {
    /// The share of its rows that are deleted. What is not known to be less counts as all.
    fn deleted_share(&self) -> f64 {
        match (self.deleted_rows, self.rows) {
            (0, _) => 0.0,
            (deleted, Some(rows)) if rows > 0 => (deleted as f64 / rows as f64).min(1.0),
            _ => 1.0,
        }
    }

    /// About how large it is without the rows that are deleted.
    pub fn live_bytes(&self) -> u64 {
        match self.rows {
            Some(_) => (self.size_bytes as f64 * (1.0 - self.deleted_share())) as u64,
            None => self.size_bytes,
        }
    }
}

impl PackRules {
    /// Whether a file is to be written anew whatever becomes of others.
    pub fn purges(&self, file: &PackedFile) -> bool {
        file.deleted_share() > self.max_deleted_share
    }

    /// Whether a file is looked at at all.
    pub fn considers(&self, file: &PackedFile) -> bool {
        self.purges(file) || (file.live_bytes() as f64) < self.target_file_size_bytes as f64 * LARGE
    }
}

/// The bins of one partition: the places of the files that become one, in their order. Files that
/// stay as they are are in none.
pub fn plan(files: &[PackedFile], rules: &PackRules) -> Vec<Vec<usize>> {
    let mut bins: Vec<Bin> = Vec::new();
    for (place, file) in files.iter().enumerate().filter(|(_, file)| rules.considers(file)) {
        let size = file.live_bytes();
        let first_open = bins.len().saturating_sub(OPEN_BINS);
        let has_room = |bin: &&mut Bin| bin.size_bytes.saturating_add(size) <= rules.target_file_size_bytes;
        match bins.iter_mut().skip(first_open).find(has_room) {
            Some(bin) => bin.push(place, size),
            None => bins.push(Bin { files: vec![place], size_bytes: size }),
        }
    }
    bins.into_iter().flat_map(|bin| bin.worthwhile(files, rules)).collect()
}

struct Bin {
    files: Vec<usize>,
    size_bytes: u64,
}

impl Bin {
    fn push(&mut self, place: usize, size_bytes: u64) {
        self.files.push(place);
        self.size_bytes += size_bytes;
    }

    /// What of it is worth the work. Files that are purged are, be it alone.
    fn worthwhile(mut self, files: &[PackedFile], rules: &PackRules) -> Vec<Vec<usize>> {
        while let Some(at) = self.dominant(files, rules) {
            self.size_bytes -= files[self.files.remove(at)].live_bytes();
        }
        if self.files.len() >= rules.min_files.max(2) {
            return vec![self.files];
        }
        self.files.into_iter().filter(|place| rules.purges(&files[*place])).map(|place| vec![place]).collect()
    }

    /// The place in the bin of a file that would be written again for little.
    fn dominant(&self, files: &[PackedFile], rules: &PackRules) -> Option<usize> {
        let sizes = self.files.iter().map(|place| files[*place].live_bytes());
        let (at, largest) = sizes.enumerate().max_by_key(|(_, size)| *size)?;
        let others = self.size_bytes - largest;
        let is_worth_it = others as f64 >= largest as f64 * WORTH || rules.purges(&files[self.files[at]]);
        (!is_worth_it).then_some(at)
    }
}

#[cfg(test)]
mod tests;
