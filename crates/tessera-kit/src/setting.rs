//! Files that settings name.

use std::path::Path;

/// A file, and the setting that named it: an option of a command line, an entry of a configuration.
/// Errors name both.
#[derive(Debug, Clone, Copy)]
pub struct SettingFile<'a> {
    /// The setting, as its user wrote it: `--ca`, `tls.roots`.
    pub setting: &'a str,
    /// The file.
    pub path: &'a Path,
}
