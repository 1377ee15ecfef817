//! The state that survives a restart, with its key from where the options say.

mod key_home;

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use serde::Serialize;
use tessera_kit::report::Fact;
use tessera_kit::{ProgramError, SettingFile};
use tessera_vault::{PreviousLife, ServerState, StateError, StateKey, StateOptions};

use self::key_home::{KeyHome, NOTE, Note};
use super::clock::unix;
use crate::key_file;
use crate::options::StateKeySource;

/// A state that this server owns, and what it found there.
pub(super) struct Opened {
    pub(super) state: ServerState,
    pub(super) found: StateFound,
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

/// Opens the state of a directory.
pub(super) fn open(
    directory: &Path,
    source: Option<&StateKeySource>,
    options: StateOptions,
) -> Result<Opened, ProgramError> {
    match source {
        None => open_with_own_key(directory, options),
        Some(source) => {
            let key = read_key(source, directory)?;
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
fn open_with_own_key(directory: &Path, options: StateOptions) -> Result<Opened, ProgramError> {
    let home = KeyHome::open(directory)?;
    let mut keys = home.keys()?;
    let way = match keys.len() {
        0 if !directory.join("ring").exists() => Way::AsItIs,
        0 => key_is_gone(directory, &home)?,
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
fn key_is_gone(directory: &Path, home: &KeyHome) -> Result<Way, ProgramError> {
    let command = |what: String| {
        Err(ProgramError::settings(format!(
            "{}: {what}; give it with --state-key; {}",
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

/// Reads a key that somebody else keeps.
fn read_key(source: &StateKeySource, directory: &Path) -> Result<StateKey, ProgramError> {
    let path = match source {
        StateKeySource::File(path) => {
            let file = SettingFile { setting: SETTING, path };
            let metadata = fs::metadata(path).map_err(|error| ProgramError::input(file, &error))?;
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
        StateKeySource::Credential(name) => credential(name)?,
    };
    let file = SettingFile { setting: SETTING, path: &path };
    Ok(StateKey::new(key_file::read(file, "state", directory)?))
}

fn credential(name: &str) -> Result<PathBuf, ProgramError> {
    let mut parts = Path::new(name).components();
    if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
        return Err(ProgramError::settings(format!(
            "credential:{name}: a credential is named without a path; check the name after {SETTING}"
        )));
    }
    let Some(directory) = std::env::var_os("CREDENTIALS_DIRECTORY") else {
        return Err(ProgramError::settings(format!(
            "credential:{name}: this process has no credentials; start it as a service with \
             LoadCredential={name}:FILE, or name the file itself after {SETTING}"
        )));
    };
    Ok(Path::new(&directory).join(name))
}

const SETTING: &str = "--state-key";

/// What was in the directory.
#[derive(Debug, Clone, Serialize)]
pub(super) struct StateFound {
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
