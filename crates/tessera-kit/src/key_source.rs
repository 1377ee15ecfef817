//! Where a key that somebody else keeps comes from.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use crate::error::ProgramError;
use crate::key_file::{self, FileKey};
use crate::setting::SettingFile;

/// Where a key comes from: a file, or a credential of the service, as `credential:NAME`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum KeySource {
    /// A file with 32 bytes, or as many in hexadecimal, which only its owner may read.
    File(PathBuf),
    /// Such a file among the service's credentials (systemd.exec(5), `LoadCredential=`), by its name.
    Credential(String),
}

impl TryFrom<String> for KeySource {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.strip_prefix("credential:") {
            Some("") => Err("name the credential after the colon"),
            Some(name) => Ok(Self::Credential(name.to_owned())),
            None => Ok(Self::File(text.into())),
        }
    }
}

impl KeySource {
    /// Reads the key of a directory with such things in it; `setting` is what named the key.
    ///
    /// # Errors
    /// If there is no such key, others can read it, or it lies in that directory.
    pub fn read(
        &self,
        setting: &str,
        things: &str,
        directory: &Path,
    ) -> Result<FileKey, ProgramError> {
        let path = match self {
            Self::File(path) => {
                let file = SettingFile { setting, path };
                let metadata =
                    fs::metadata(path).map_err(|error| ProgramError::input(file, &error))?;
                let mode = metadata.permissions().mode() & 0o7777;
                if metadata.is_file() && mode & 0o077 != 0 {
                    return Err(ProgramError::settings(format!(
                        "{0}: others can read this key (mode {mode:04o}); chmod 600 {0}",
                        path.display()
                    )));
                }
                path.clone()
            }
            // Who may read it is the service manager's to say.
            Self::Credential(name) => credential(setting, name)?,
        };
        key_file::read(SettingFile { setting, path: &path }, things, directory)
    }
}

fn credential(setting: &str, name: &str) -> Result<PathBuf, ProgramError> {
    let mut parts = Path::new(name).components();
    if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
        return Err(ProgramError::settings(format!(
            "credential:{name}: a credential is named without a path; check the name after {setting}"
        )));
    }
    let Some(directory) = std::env::var_os("CREDENTIALS_DIRECTORY") else {
        return Err(ProgramError::settings(format!(
            "credential:{name}: this process has no credentials; start it as a service with \
             LoadCredential={name}:FILE, or name the file itself after {setting}"
        )));
    };
    Ok(Path::new(&directory).join(name))
}
