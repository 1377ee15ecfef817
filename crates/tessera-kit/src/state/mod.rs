//! The state of a server that survives a restart, with its key from where the settings say.

mod key_home;

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use serde::Serialize;
use tessera_vault::{PreviousLife, ServerState, StateError, StateKey, StateOptions};

use self::key_home::{KeyHome, NOTE, Note};
use crate::clock::unix;
use crate::error::ProgramError;
use crate::key_source::KeySource;
use crate::report::Fact;

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
}

/// Opens the state of a directory.
///
/// # Errors
/// If its key can't be had, or the state can't be opened with it. Nothing was changed then.
pub fn open(
    directory: &Path,
    key: StateKeySetting<'_>,
    options: StateOptions,
) -> Result<Opened, ProgramError> {
    match key.source {
        None => open_with_own_key(directory, key.setting, options),
        Some(source) => {
            let key = StateKey::new(source.read(key.setting, "state", directory)?);
            let opened = open_state(directory, &[key], options, Way::AsItIs)?;
            // It has been a key of our own, perhaps, and is none any more.
            opened.unless_failed(match fs::remove_file(directory.join(NOTE)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(ProgramError::failed(directory.join(NOTE).display(), error))
                }
                _ => Ok(()),
            })
        }
    }
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
        0 if !directory.join("ring").exists() => Way::AsItIs,
        0 => key_is_gone(directory, setting, &home)?,
        _ => Way::AsItIs,
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
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    AsItIs,
    /// What there is can't be opened by anybody any more.
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
    let state = match way {
        Way::AsItIs => ServerState::open(directory, keys, &provider, options, unix()),
        Way::Afresh => ServerState::open_afresh(directory, keys, &provider, options, unix()),
    };
    let state = state.map_err(|error| ProgramError::settings(error.to_string()))?;
    let found = StateFound::new(directory, state.previous_life(), way);
    Ok(Opened { state, found })
}

fn new_key() -> Result<StateKey, ProgramError> {
    StateKey::generate(&tessera_aws_lc::provider())
        .map_err(|error| ProgramError::failed("a key for the state", error))
}

/// What was in the directory.
#[derive(Debug, Clone, Serialize)]
pub struct StateFound {
    directory: String,
    found: &'static str,
    one_time_keys: usize,
}

impl Fact for StateFound {
    const EVENT: &'static str = "state";
}

impl StateFound {
    fn new(directory: &Path, before: PreviousLife, way: Way) -> Self {
        let (found, one_time_keys) = match before {
            _ if way == Way::Afresh => ("key-gone", 0),
            PreviousLife::Closed { secrets } => ("closed", secrets),
            PreviousLife::Crashed => ("crashed", 0),
            _ => ("nothing", 0),
        };
        let directory = directory.display().to_string();
        Self { directory, found, one_time_keys }
    }
}

/// One line for people.
impl fmt::Display for StateFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "state in {}: ", self.directory)?;
        match self.found {
            "closed" => write!(f, "ticket keys and {} one-time keys are there again", self.one_time_keys),
            "crashed" => f.write_str(
                "ticket keys are there again; the server before did not end properly, and its one-time \
                 keys are lost",
            ),
            "key-gone" => f.write_str(
                "begun afresh, since its key has ended with the power or is another machine's: clients \
                 make full handshakes",
            ),
            _ => f.write_str("new"),
        }
    }
}
