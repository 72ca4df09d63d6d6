//! The names of the files in `_delta_log`.

/// The directory of the log, relative to the table root.
pub const LOG_DIR: &str = "_delta_log";
/// The directory of the sidecars of V2 checkpoints, relative to the table root.
pub const SIDECAR_DIR: &str = "_delta_log/_sidecars";
/// The name of the hint, relative to the log.
pub const HINT_NAME: &str = "_last_checkpoint";

/// The greatest version. All other implementations store versions as signed 64-bit integers.
const MAX_VERSION: u64 = i64::MAX as u64;

/// A file of the log that belongs to a version.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LogPath {
    /// The version. For a compaction, its first version.
    pub version: u64,
    /// The content of the file.
    pub kind: LogKind,
    /// The file name, relative to the log.
    pub name: String,
}

/// The content of a file of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LogKind {
    /// The actions of one version.
    Commit,
    /// The state of the table at a version, or a part of it.
    Checkpoint(CheckpointKind),
    /// The reconciled actions of several versions.
    Compaction {
        /// The last of these versions.
        end: u64,
    },
    /// Counts and sums over the state at a version.
    Checksum,
}

/// The three ways to name a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CheckpointKind {
    /// One file, named by the version.
    Classic,
    /// One of several files, all of which are needed.
    MultiPart {
        /// The number of this part, counted from 1.
        part: u32,
        /// The number of parts.
        parts: u32,
    },
    /// The top file of a V2 checkpoint with a unique name.
    Uuid {
        /// Whether the file holds JSON lines instead of Parquet.
        json: bool,
    },
}

impl LogPath {
    /// Parses a file name. Returns `None` for every file that readers must ignore: hidden files,
    /// unfinished uploads and unknown names.
    ///
    /// The patterns are those of Delta Spark: a version may have fewer than twenty digits, and the
    /// unique part of a V2 checkpoint's name is any string without a dot.
    pub fn parse(name: &str) -> Option<Self> {
        let mut segments = name.split('.');
        let version = parse_version(segments.next()?)?;
        // The longest name has five segments. A sixth segment shows that the name is longer.
        let mut rest = [""; 5];
        let mut count = 0;
        for segment in segments {
            *rest.get_mut(count)? = segment;
            count += 1;
        }
        let kind = match *rest.get(..count)? {
            ["json"] => LogKind::Commit,
            ["crc"] => LogKind::Checksum,
            ["checkpoint", "parquet"] => LogKind::Checkpoint(CheckpointKind::Classic),
            ["checkpoint", unique, "parquet"] if !unique.is_empty() => LogKind::Checkpoint(CheckpointKind::Uuid { json: false }),
            ["checkpoint", unique, "json"] if !unique.is_empty() => LogKind::Checkpoint(CheckpointKind::Uuid { json: true }),
            ["checkpoint", part, parts, "parquet"] => parse_part(part, parts)?,
            [end, "compacted", "json"] => LogKind::Compaction { end: parse_version(end).filter(|end| *end > version)? },
            _ => return None,
        };
        Some(Self { version, kind, name: name.to_owned() })
    }

    /// Returns whether the file holds the actions of one version.
    pub fn is_commit(&self) -> bool {
        matches!(self.kind, LogKind::Commit)
    }

    /// Returns whether the file holds the reconciled actions of several versions.
    pub fn is_compaction(&self) -> bool {
        matches!(self.kind, LogKind::Compaction { .. })
    }

    /// Returns the commit of a version.
    pub fn commit(version: u64) -> Self {
        Self { version, kind: LogKind::Commit, name: commit_name(version) }
    }
}

/// Returns the file name of a version's commit.
pub fn commit_name(version: u64) -> String {
    format!("{version:020}.json")
}

/// Returns the file name of a version's classic checkpoint.
pub fn checkpoint_name(version: u64) -> String {
    format!("{version:020}.checkpoint.parquet")
}

/// Returns the file name of a version's checksum.
pub fn checksum_name(version: u64) -> String {
    format!("{version:020}.crc")
}

fn parse_version(text: &str) -> Option<u64> {
    parse_digits(text).filter(|version| *version <= MAX_VERSION)
}

fn parse_part(part: &str, parts: &str) -> Option<LogKind> {
    let part = u32::try_from(parse_digits(part)?).ok()?;
    let parts = u32::try_from(parse_digits(parts)?).ok()?;
    (1..=parts).contains(&part).then_some(LogKind::Checkpoint(CheckpointKind::MultiPart { part, parts }))
}

/// Parses a number of digits only, because `str::parse` also accepts a sign.
fn parse_digits(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(name: &str, version: u64, kind: LogKind) {
        assert_eq!(LogPath::parse(name), Some(LogPath { version, kind, name: name.to_owned() }));
    }

    #[test]
    fn parse_every_kind_of_log_name() {
        check("00000000000000000007.json", 7, LogKind::Commit);
        check("7.json", 7, LogKind::Commit);
        check("09223372036854775807.json", 9_223_372_036_854_775_807, LogKind::Commit);
        check("00000000000000000010.checkpoint.parquet", 10, LogKind::Checkpoint(CheckpointKind::Classic));
        check(
            "00000000000000000010.checkpoint.0000000002.0000000003.parquet",
            10,
            LogKind::Checkpoint(CheckpointKind::MultiPart { part: 2, parts: 3 }),
        );
        check(
            "00000000000000000010.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json",
            10,
            LogKind::Checkpoint(CheckpointKind::Uuid { json: true }),
        );
        check("00000000000000000010.checkpoint.any text.parquet", 10, LogKind::Checkpoint(CheckpointKind::Uuid { json: false }));
        check("00000000000000000004.00000000000000000006.compacted.json", 4, LogKind::Compaction { end: 6 });
        check("00000000000000000004.crc", 4, LogKind::Checksum);
    }

    #[test]
    fn parse_other_log_names_gives_none() {
        for name in [
            "",
            ".",
            ".json",
            "_last_checkpoint",
            ".00000000000000000007.json.crc",
            "00000000000000000007.json.tmp",
            "+7.json",
            "-7.json",
            " 7.json",
            "٧.json",
            "09223372036854775808.json",
            "99999999999999999999999.json",
            "00000000000000000010.checkpoint",
            "00000000000000000010.checkpoint.json",
            "00000000000000000010.checkpoint..parquet",
            "00000000000000000010.checkpoint.a.b.parquet",
            "00000000000000000010.checkpoint.0000000000.0000000003.parquet",
            "00000000000000000010.checkpoint.0000000004.0000000003.parquet",
            "00000000000000000010.checkpoint.1.99999999999.parquet",
            "00000000000000000010.checkpoint.1.2.3.parquet",
            "00000000000000000006.00000000000000000006.compacted.json",
            "00000000000000000006.00000000000000000004.compacted.json",
            "00000000000000000007.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json",
            "00000000000000000007.json.parquet.crc.json.json.json",
        ] {
            assert_eq!(LogPath::parse(name), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn printed_names_parse_to_their_version(version in 0..=MAX_VERSION) {
            prop_assert_eq!(LogPath::parse(&commit_name(version)), Some(LogPath::commit(version)));
            let checkpoint = LogPath::parse(&checkpoint_name(version)).map(|path| (path.version, path.kind));
            prop_assert_eq!(checkpoint, Some((version, LogKind::Checkpoint(CheckpointKind::Classic))));
            let checksum = LogPath::parse(&checksum_name(version)).map(|path| (path.version, path.kind));
            prop_assert_eq!(checksum, Some((version, LogKind::Checksum)));
        }

        #[test]
        fn names_sort_as_their_versions(a in 0..=MAX_VERSION, b in 0..=MAX_VERSION) {
            prop_assert_eq!(commit_name(a).cmp(&commit_name(b)), a.cmp(&b));
        }

        #[test]
        fn no_name_panics(name in "[0-9a-z.]{0,40}|\\PC{0,40}") {
            if let Some(path) = LogPath::parse(&name) {
                prop_assert_eq!(path.name, name);
            }
        }
    }
}
