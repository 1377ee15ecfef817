//! Sources of keys kept outside the program.

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use crate::error::ProgramError;
use crate::key_file::{self, FileKey};
use crate::setting::SettingFile;

/// The source of a key: a file, or a credential of the service, as `credential:NAME`.
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
    /// Reads the key for a directory that holds `things`; `setting` named the key.
    ///
    /// # Errors
    /// Returns an error if there is no such key, others can read it, or it lies in that directory.
    pub fn read(
        &self,
        setting: &str,
        things: &str,
        directory: &Path,
    ) -> Result<FileKey, ProgramError> {
        match self {
            Self::File(path) => {
                key_file::read_private(SettingFile { setting, path }, things, directory)
            }
            // The service manager determines which users may read it.
            Self::Credential(name) => {
                let path = credential(setting, name)?;
                key_file::read(SettingFile { setting, path: &path }, things, directory)
            }
        }
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
