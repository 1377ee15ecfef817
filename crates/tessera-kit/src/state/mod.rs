//! The state of a server that survives a restart, with its key from the configured source.

mod contents;
mod key_home;
mod witness;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use tessera_vault::{ServerState, StateError, StateKey, StateOptions, StateProblem, Witness};

use self::contents::OldCopies;
pub use self::contents::StateContents;
use self::key_home::{KeyHome, NOTE, Note};
use crate::clock::unix;
use crate::error::ProgramError;
use crate::key_source::KeySource;
use crate::setting::SettingFile;

/// A state that this server owns, and what it found there.
pub struct OpenedState {
    /// The state.
    pub state: ServerState,
    /// What the directory contained.
    pub found: StateContents,
}

impl OpenedState {
    /// Saves the state for the next start if the rest of this one failed, because what was read exists
    /// nowhere else.
    fn unless_failed(self, rest: Result<(), ProgramError>) -> Result<Self, ProgramError> {
        if rest.is_err() {
            // The first failure is reported.
            let _ = self.state.close(unix());
        }
        rest.map(|()| self)
    }
}

/// The configured source of a state's key.
#[derive(Debug, Clone, Copy)]
pub struct StateKeySetting<'a> {
    /// The setting as the user writes it: `--state-key`.
    pub setting: &'a str,
    /// The setting's value. Without one, the program keeps its own key in memory that survives the process
    /// but not a power-off.
    pub source: Option<&'a KeySource>,
    /// The directory of a witness ([`FileWitness`](tessera_vault::FileWitness)), which detects a state that
    /// was restored to an earlier one. The program's own key opens no earlier copy, and needs no witness.
    pub witness: Option<SettingFile<'a>>,
}

/// Opens the state of a directory. Warnings for its owner are logged.
///
/// # Errors
/// Returns an error if its key or its witness is unavailable, or the state can't be opened with them. Nothing
/// was changed then.
pub fn open(
    directory: SettingFile<'_>,
    key: StateKeySetting<'_>,
    options: StateOptions,
) -> Result<OpenedState, ProgramError> {
    let opened = match key.source {
        None => open_with_own_key(directory, key.setting, options),
        Some(source) => open_with_key(directory, key, source, options),
    }?;
    for warning in opened.found.warnings() {
        tracing::warn!("{warning}");
    }
    Ok(opened)
}

/// Detects what would keep [`open`] from the key of a directory; opens and creates nothing.
///
/// # Errors
/// Returns an error if the key or its place is unavailable.
pub fn check(
    directory: &Path,
    setting: &str,
    source: Option<&KeySource>,
) -> Result<(), ProgramError> {
    match source {
        None => KeyHome::check(directory, setting),
        Some(source) => source.read(setting, "state", directory).map(drop),
    }
}

fn open_with_key(
    at: SettingFile<'_>,
    setting: StateKeySetting<'_>,
    source: &KeySource,
    options: StateOptions,
) -> Result<OpenedState, ProgramError> {
    let directory = at.path;
    let key = StateKey::new(source.read(setting.setting, "state", directory)?);
    let witness = setting.witness.map(|file| witness::open(file, directory)).transpose()?;
    let opened = open_state(at, &[key], options, Way::AsItIs(witness))?;
    // The key may have been the program's own before, and no longer is.
    opened.unless_failed(match fs::remove_file(directory.join(NOTE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(ProgramError::failed(directory.join(NOTE).display(), error))
        }
        _ => Ok(()),
    })
}

/// Opens with a key that this program makes at each start, and that is lost with the power.
fn open_with_own_key(
    at: SettingFile<'_>,
    setting: &str,
    options: StateOptions,
) -> Result<OpenedState, ProgramError> {
    let directory = at.path;
    let home = KeyHome::open(directory, setting)?;
    let mut keys = home.keys()?;
    let way = match keys.len() {
        0 if !directory.join("ring").exists() => Way::OwnKey,
        0 => key_is_gone(directory, setting, &home)?,
        _ => Way::OwnKey,
    };
    let are_new = keys.is_empty();
    if keys.len() < 2 {
        // Keep both until the state is sealed under the new one: whenever this process ends, one of them
        // opens it.
        keys.insert(0, new_key()?);
        home.keep(&keys)?;
    }
    let opened = open_state(at, &keys, options, way);
    if opened.is_err() && are_new {
        home.forget();
    }
    let opened = opened?;
    keys.truncate(1);
    opened.unless_failed(home.keep(&keys).and_then(|()| Note::of_now(&home).write(directory)))
}

/// How to open a state.
enum Way {
    /// Under a constant key.
    AsItIs(Option<Arc<dyn Witness>>),
    /// Under this program's key, another one at each start.
    OwnKey,
    /// Likewise, after the key of the existing state was lost.
    Afresh,
}

/// Handles a state without a key: expected if the power was off since.
fn key_is_gone(directory: &Path, setting: &str, home: &KeyHome) -> Result<Way, ProgramError> {
    let command = |what: String| {
        Err(ProgramError::settings(format!(
            "{}: {what}; give it with {setting}; {}",
            directory.display(),
            StateError::how_to_start_afresh(directory)
        )))
    };
    match Note::read(directory) {
        None => command("its key is not kept by this program".to_owned()),
        // A new container has new shared memory, although the machine was not rebooted.
        Some(note) if note.key == home.path() && home.ends_with_container() => Ok(Way::Afresh),
        Some(note) if note.is_of_this_boot() && note.key == home.path() => command(format!(
            "its key is gone, although the machine was not restarted: it was at {}; a service keeps it with \
             RuntimeDirectoryPreserve=yes",
            note.key.display()
        )),
        Some(note) if note.is_of_this_boot() => command(format!(
            "its key was at {}, and is now expected at {}, which depends on the directory's path and \
             $RUNTIME_DIRECTORY: start the server with both as before",
            note.key.display(),
            home.path().display()
        )),
        Some(_) => Ok(Way::Afresh),
    }
}

fn open_state(
    at: SettingFile<'_>,
    keys: &[StateKey],
    options: StateOptions,
    way: Way,
) -> Result<OpenedState, ProgramError> {
    let directory = at.path;
    let provider = tessera_aws_lc::provider();
    let (is_afresh, old_copies) = match &way {
        Way::AsItIs(None) => (false, OldCopies::Unnoticed),
        Way::AsItIs(Some(_)) => (false, OldCopies::Noticed),
        Way::OwnKey => (false, OldCopies::Refused),
        Way::Afresh => (true, OldCopies::Refused),
    };
    let state = match way {
        Way::AsItIs(Some(witness)) => {
            ServerState::open_witnessed(directory, keys, witness, &provider, options, unix())
        }
        Way::AsItIs(None) | Way::OwnKey => {
            ServerState::open(directory, keys, &provider, options, unix())
        }
        Way::Afresh => ServerState::open_afresh(directory, keys, &provider, options, unix()),
    };
    let state = state.map_err(|error| unopened(at, &error))?;
    let before = (!is_afresh).then(|| state.previous_life());
    let found = StateContents::new(directory, before, old_copies);
    Ok(OpenedState { state, found })
}

/// Names the setting where another directory would do.
fn unopened(SettingFile { setting, .. }: SettingFile<'_>, error: &StateError) -> ProgramError {
    let remedy = match error.problem() {
        StateProblem::Io(io) if io.kind() == io::ErrorKind::NotFound => {
            format!(", or check the path after {setting}")
        }
        StateProblem::Io(_) | StateProblem::HoldsOtherFiles => {
            format!("; check the path after {setting}")
        }
        _ => String::new(),
    };
    ProgramError::settings(format!("{error}{remedy}"))
}

fn new_key() -> Result<StateKey, ProgramError> {
    StateKey::generate(&tessera_aws_lc::provider())
        .map_err(|error| ProgramError::failed("a key for the state", error))
}
