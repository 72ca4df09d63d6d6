//! Decides which files of a partition are combined into larger ones, and which are rewritten alone.
//!
//! Two rules prevent the same rows from being rewritten again and again. A bin must leave fewer
//! files than it takes, and no file is rewritten for the sake of others that are much smaller. So
//! each row is rewritten about as often as the table doubles. Read [`plan`].

/// A file no smaller than this share of the target is left alone.
const LARGE: f64 = 0.75;

/// A file is not rewritten for others that are together smaller than this share of it.
const WORTH: f64 = 0.25;

/// The `max_deleted_share` with which every file is rewritten.
pub const EVERY_FILE: f64 = -1.0;

/// The number of bins that stay open for later files.
const OPEN_BINS: usize = 32;

/// The facts about a file.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PackedFile {
    /// Its size.
    pub size_bytes: u64,
    /// The file's rows including deleted ones, if the log has the number.
    pub rows: Option<u64>,
    /// The number of deleted rows among them.
    pub deleted_rows: u64,
}

/// The rules for combining files.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PackRules {
    /// The approximate size of new files.
    pub target_file_size_bytes: u64,
    /// The least number of files that are combined.
    pub min_files: usize,
    /// A file with a larger share of deleted rows is rewritten in any case.
    pub max_deleted_share: f64,
}

impl PackedFile {
    /// Returns the share of the file's rows that are deleted. If rows are deleted and the
    /// number of rows is not known, all rows count as deleted.
    fn deleted_share(&self) -> f64 {
        match (self.deleted_rows, self.rows) {
            (0, _) => 0.0,
            (deleted, Some(rows)) if rows > 0 => (deleted as f64 / rows as f64).min(1.0),
            _ => 1.0,
        }
    }

    /// Returns the approximate size of the file without its deleted rows.
    pub fn live_bytes(&self) -> u64 {
        match self.rows {
            Some(_) => (self.size_bytes as f64 * (1.0 - self.deleted_share())) as u64,
            None => self.size_bytes,
        }
    }
}

impl PackRules {
    /// Returns whether a file is rewritten in any case, independent of other files.
    pub fn purges(&self, file: &PackedFile) -> bool {
        file.deleted_share() > self.max_deleted_share
    }

    /// Returns whether a file takes part in the plan.
    pub fn considers(&self, file: &PackedFile) -> bool {
        self.purges(file) || (file.live_bytes() as f64) < self.target_file_size_bytes as f64 * LARGE
    }
}

/// Returns the bins of one partition. A bin has the indices of the files that become one file, in
/// their order. Files that stay as they are are in no bin.
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

    /// Returns the parts of the bin that are worth the work. Files to purge always are, even alone.
    fn worthwhile(mut self, files: &[PackedFile], rules: &PackRules) -> Vec<Vec<usize>> {
        while let Some(at) = self.dominant(files, rules) {
            self.size_bytes -= files[self.files.remove(at)].live_bytes();
        }
        if self.files.len() >= rules.min_files.max(2) {
            return vec![self.files];
        }
        self.files.into_iter().filter(|place| rules.purges(&files[*place])).map(|place| vec![place]).collect()
    }

    /// Returns the index in the bin of a file that would be rewritten for little gain.
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
