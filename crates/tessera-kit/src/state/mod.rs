//! The state of a server that survives a restart, with its key from where the settings say.

mod found;
mod key_home;
mod witness;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use tessera_vault::{ServerState, StateError, StateKey, StateOptions, Witness};

use self::found::OldCopies;
pub use self::found::StateFound;
use self::key_home::{KeyHome, NOTE, Note};
use crate::clock::unix;
use crate::error::ProgramError;
use crate::key_source::KeySource;
use crate::setting::SettingFile;

/// A state that this server owns, and what it found there.
pub struct Opened {
    /// The state.
    pub state: ServerState,
    /// What it was when it was opened.
    pub found: StateFound,
}

impl Opened {
    /// Leaves the state to the next start where this one has failed: what was read from it is nowhere else.
    fn unless_failed(self, rest: Result<(), ProgramError>) -> Result<Self, ProgramError> {
        if rest.is_err() {
            // What failed first is told.
            let _ = self.state.close(unix());
        }
        rest.map(|()| self)
    }
}

/// Where the key of a state comes from, as its user set it.
#[derive(Debug, Clone, Copy)]
pub struct StateKeySetting<'a> {
    /// The setting, as its user writes it: `--state-key`.
    pub setting: &'a str,
    /// What it says. Without it the program keeps a key of its own in memory that outlives it and not the
    /// power.
    pub source: Option<&'a KeySource>,
    /// The directory of a witness ([`FileWitness`](tessera_vault::FileWitness)), which notices a state that was put back
    /// as it was. A key of the program's own opens no earlier copy, and needs none.
    pub witness: Option<SettingFile<'a>>,
}

/// Opens the state of a directory. What its owner should look at is in the log.
///
/// # Errors
/// If its key or its witness can't be had, or the state can't be opened with them. Nothing was changed then.
pub fn open(
    directory: &Path,
    key: StateKeySetting<'_>,
    options: StateOptions,
) -> Result<Opened, ProgramError> {
    let opened = match key.source {
        None => open_with_own_key(directory, key.setting, options),
        Some(source) => open_with_key(directory, key, source, options),
    }?;
    for warning in opened.found.warnings() {
        tracing::warn!("{warning}");
    }
    Ok(opened)
}

/// Finds what would keep [`open`] from the key of a directory; opens and makes nothing.
///
/// # Errors
/// If the key or its place can't be had.
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
    directory: &Path,
    setting: StateKeySetting<'_>,
    source: &KeySource,
    options: StateOptions,
) -> Result<Opened, ProgramError> {
    let key = StateKey::new(source.read(setting.setting, "state", directory)?);
    let witness = setting.witness.map(|file| witness::open(file, directory)).transpose()?;
    let opened = open_state(directory, &[key], options, Way::AsItIs(witness))?;
    // It has been a key of our own, perhaps, and is none any more.
    opened.unless_failed(match fs::remove_file(directory.join(NOTE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(ProgramError::failed(directory.join(NOTE).display(), error))
        }
        _ => Ok(()),
    })
}

/// With a key that this program makes at each start, and that ends with the power.
fn open_with_own_key(
    directory: &Path,
    setting: &str,
    options: StateOptions,
) -> Result<Opened, ProgramError> {
    let home = KeyHome::open(directory, setting)?;
    let mut keys = home.keys()?;
    let way = match keys.len() {
        0 if !directory.join("ring").exists() => Way::OwnKey,
        0 => key_is_gone(directory, setting, &home)?,
        _ => Way::OwnKey,
    };
    let are_new = keys.is_empty();
    if keys.len() < 2 {
        // Both until the state is sealed under the new one: whatever ends this process, one of them opens it.
        keys.insert(0, new_key()?);
        home.keep(&keys)?;
    }
    let opened = open_state(directory, &keys, options, way);
    if opened.is_err() && are_new {
        home.forget();
    }
    let opened = opened?;
    keys.truncate(1);
    opened.unless_failed(home.keep(&keys).and_then(|()| Note::of_now(&home).write(directory)))
}

/// How to open.
enum Way {
    /// Under a key that stays the same.
    AsItIs(Option<Arc<dyn Witness>>),
    /// Under a key of this program's, another one at each start.
    OwnKey,
    /// The same, and the key of what there is is gone.
    Afresh,
}

/// There is a state, and no key for it. If the power was off since then, that is as it should be.
fn key_is_gone(directory: &Path, setting: &str, home: &KeyHome) -> Result<Way, ProgramError> {
    let command = |what: String| {
        Err(ProgramError::settings(format!(
            "{}: {what}; give it with {setting}; {}",
            directory.display(),
            StateError::how_to_start_afresh(directory)
        )))
    };
    match Note::read(directory) {
        None => command("its key is not one that this program keeps".to_owned()),
        // A new container has new shared memory, while the machine was not restarted.
        Some(note) if note.key == home.path() && home.ends_with_container() => Ok(Way::Afresh),
        Some(note) if note.is_of_this_boot() && note.key == home.path() => command(format!(
            "its key is gone, and the machine was not restarted since: it was {}; a service keeps it with \
             RuntimeDirectoryPreserve=yes",
            note.key.display()
        )),
        Some(note) if note.is_of_this_boot() => command(format!(
            "its key was {}, and is now looked for at {}, which goes by the directory's path and by \
             $RUNTIME_DIRECTORY: start the server with both as before",
            note.key.display(),
            home.path().display()
        )),
        Some(_) => Ok(Way::Afresh),
    }
}

fn open_state(
    directory: &Path,
    keys: &[StateKey],
    options: StateOptions,
    way: Way,
) -> Result<Opened, ProgramError> {
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
    let state = state.map_err(|error| ProgramError::settings(error.to_string()))?;
    let before = (!is_afresh).then(|| state.previous_life());
    let found = StateFound::new(directory, before, old_copies);
    Ok(Opened { state, found })
}

fn new_key() -> Result<StateKey, ProgramError> {
    StateKey::generate(&tessera_aws_lc::provider())
        .map_err(|error| ProgramError::failed("a key for the state", error))
}
