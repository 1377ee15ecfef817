//! The witness of a state: a directory that is not restored together with it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use tessera_vault::{FileWitness, Witness};

use crate::error::ProgramError;
use crate::setting::SettingFile;

/// Opens the witness of a state, and creates its directory if missing.
///
/// # Errors
/// Returns an error if the directory can't be created, lies in the state, or is open to others.
pub(super) fn open(file: SettingFile<'_>, state: &Path) -> Result<Arc<dyn Witness>, ProgramError> {
    let SettingFile { setting, path } = file;
    let failed = |error: std::io::Error| ProgramError::output(file, &error);
    let witness = FileWitness::new(path).map_err(failed)?;
    let metadata = fs::metadata(path).map_err(failed)?;
    if !metadata.is_dir() {
        return Err(failed(std::io::ErrorKind::NotADirectory.into()));
    }
    if let (Ok(witness), Ok(state)) = (fs::canonicalize(path), fs::canonicalize(state))
        && witness.starts_with(state)
    {
        let what = "the witness is in the state, and is restored together with it; name a directory on another file \
                    system after";
        return Err(ProgramError::in_file(path, format_args!("{what} {setting}")));
    }
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & 0o022 != 0 {
        let what = "others can write to this directory";
        let path_shown = path.display();
        return Err(ProgramError::in_file(
            path,
            format_args!(
                "{what} (mode {mode:04o}), and so erase what it knows; chmod go-w {path_shown}"
            ),
        ));
    }
    Ok(Arc::new(witness))
}
