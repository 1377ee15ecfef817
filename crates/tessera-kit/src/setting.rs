//! Files named by settings.

use std::path::Path;

/// A file, and the setting that named it: a command-line option, an entry of a configuration. Errors name
/// both.
#[derive(Debug, Clone, Copy)]
pub struct SettingFile<'a> {
    /// The setting as the user wrote it: `--ca`, `tls.roots`.
    pub setting: &'a str,
    /// The file.
    pub path: &'a Path,
}
