//! A journal of the cells that a long run has finished, so that an interrupted run continues where it stopped.
//!
//! The first line identifies the run; each other line is one finished cell as JSON. An incomplete last line doesn't
//! count.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tessera_reports::Machine;
use tessera_vault::FileLock;

use crate::error::{LabError, words};
use crate::machine::{revision, this_machine};

/// Whether a journal's time is this one, in milliseconds: JSON keeps no more than 16 digits.
pub(crate) fn is_one_time(there: f64, here: f64) -> bool {
    (there - here).abs() < 1e-6
}

/// The run that a journal belongs to. Cells of another run would be of another experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) experiment: String,
    /// Of the program.
    pub(crate) version: String,
    /// The source revision, if the build had it.
    pub(crate) revision: Option<String>,
    pub(crate) machine: Machine,
    pub(crate) seed: u64,
    /// How the links are made.
    pub(crate) link: String,
    /// Other settings that must match, such as the repetitions of each cell.
    pub(crate) settings: Value,
}

impl Run {
    /// Creates a run of this program on this machine.
    pub(crate) fn of_this_program(
        experiment: &str,
        seed: u64,
        link: impl ToString,
        settings: Value,
    ) -> Self {
        Self {
            experiment: experiment.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            revision: revision().map(str::to_owned),
            machine: this_machine(),
            seed,
            link: link.to_string(),
            settings,
        }
    }

    /// Returns a difference between this run and that of a journal: the name, its value there, and here.
    fn difference(&self, there: &Self) -> Option<(&'static str, String, String)> {
        let revision = |run: &Self| run.revision.clone().unwrap_or_else(|| "unknown".to_owned());
        let fields = [
            ("experiment", there.experiment.clone(), self.experiment.clone()),
            ("version", there.version.clone(), self.version.clone()),
            ("revision", revision(there), revision(self)),
            ("machine", there.machine.to_string(), self.machine.to_string()),
            ("seed", there.seed.to_string(), self.seed.to_string()),
            ("kind of link", there.link.clone(), self.link.clone()),
            ("settings", there.settings.to_string(), self.settings.to_string()),
        ];
        fields.into_iter().find(|(_, there, here)| there != here)
    }
}

/// The finished cells of a run, and the file that keeps them, if one does.
pub(crate) struct Journal<C> {
    file: Option<(PathBuf, FileLock)>,
    cells: PhantomData<C>,
}

impl<C: Serialize + DeserializeOwned> Journal<C> {
    /// Opens the file, which is created if necessary, and returns the cells finished before; without a file nothing is
    /// kept. `name` returns the name of a cell that the run could have finished; for any other cell, what is wrong with
    /// it.
    ///
    /// # Errors
    /// [`LabError::Options`] if the file can't be used, another run writes to it, or it belongs to another run: the
    /// text names the difference. If a cell is wrong, or occurs twice: the text names the line.
    pub(crate) fn open(
        path: Option<&Path>,
        run: &Run,
        name: impl Fn(&C) -> Result<String, String>,
    ) -> Result<(Self, Vec<C>), LabError> {
        let Some(path) = path else {
            return Ok((Self { file: None, cells: PhantomData }, Vec::new()));
        };
        let (file, finished) = open(path, run, name).map_err(|what| {
            LabError::Options(format!("--resume {}: {}", path.display(), printable(&what)))
        })?;
        Ok((Self { file: Some((path.to_owned(), file)), cells: PhantomData }, finished))
    }

    /// Stores a finished cell; it is on the disk when this returns.
    ///
    /// # Errors
    /// [`LabError::System`].
    pub(crate) fn add(&mut self, cell: &C) -> Result<(), LabError> {
        let Some((path, file)) = &mut self.file else { return Ok(()) };
        append(file, cell)
            .map_err(LabError::system(format!("writing a finished cell to {}", path.display())))
    }
}

fn open<C: DeserializeOwned>(
    path: &Path,
    run: &Run,
    name: impl Fn(&C) -> Result<String, String>,
) -> Result<(FileLock, Vec<C>), String> {
    let cannot = |error: io::Error| format!("it can't be read and written: {}", words(&error));
    // Before it is opened: a device may be endless, and opening a pipe waits for a writer.
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return Err(
            "it is not a regular file; name one, or a file that doesn't exist yet".to_owned()
        );
    }
    let mut options = OpenOptions::new();
    let opened = options.read(true).write(true).create(true).truncate(false).open(path);
    let mut file = match FileLock::try_new(opened.map_err(cannot)?) {
        Ok(file) => file,
        Err(TryLockError::WouldBlock) => return Err("another run is writing to it".to_owned()),
        Err(TryLockError::Error(error)) => return Err(cannot(error)),
    };
    let mut text = Vec::new();
    file.read_to_end(&mut text).map_err(cannot)?;
    // An incomplete last line was being written when the run was interrupted.
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let mut lines = text[..whole].split_inclusive(|byte| *byte == b'\n');
    let Some(first) = lines.next() else {
        // A foreign file may have no line breaks at all.
        if !text.is_empty() && !b"{\"experiment\"".starts_with(&text[..text.len().min(13)]) {
            return Err(
                "it is not a journal; name one, or a file that doesn't exist yet".to_owned()
            );
        }
        file.set_len(0).and_then(|()| file.rewind()).map_err(cannot)?;
        append(&mut file, run).map_err(cannot)?;
        return Ok((file, Vec::new()));
    };
    let there: Run = serde_json::from_slice(first).map_err(|_| {
        "its first line is not that of a journal; name one, or a file that doesn't exist yet"
            .to_owned()
    })?;
    if let Some((name, there, here)) = run.difference(&there) {
        return Err(format!(
            "it belongs to another run: its {name} is {there}, and this one's {here}; make them the same, or name a \
             file that doesn't exist yet"
        ));
    }
    let finished = cells(lines, name)?;
    let end = whole as u64;
    file.set_len(end).and_then(|()| file.seek(SeekFrom::Start(end))).map_err(cannot)?;
    Ok((file, finished))
}

/// Returns the cells of all lines but the first.
fn cells<'l, C: DeserializeOwned>(
    lines: impl Iterator<Item = &'l [u8]>,
    name: impl Fn(&C) -> Result<String, String>,
) -> Result<Vec<C>, String> {
    let mut places = HashMap::new();
    let cells = lines.zip(2_usize..).map(|(line, number)| {
        let cell = serde_json::from_slice(line)
            .map_err(|error| format!("line {number} is not a finished cell ({error})"))?;
        let name = name(&cell).map_err(|what| {
            format!("line {number} is not a cell that this run finishes: {what}; delete it to have it measured")
        })?;
        match places.entry(name) {
            Entry::Vacant(place) => place.insert(number),
            Entry::Occupied(place) => {
                let (name, first) = (place.key(), place.get());
                return Err(format!("line {number} is {name}, and so is line {first}; delete one"));
            }
        };
        Ok(cell)
    });
    cells.collect()
}

/// Removes terminal control sequences from a text that may contain parts of a file.
fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' | '\'' | '\\' => printable.push(character),
            other => printable.extend(other.escape_debug()),
        }
    }
    printable
}

/// A whole line in one write.
fn append(file: &mut File, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    file.write_all(&line)?;
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use serde_json::json;

    use super::*;

    /// A unique path, whose file is removed on drop.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let file = format!("tessera-journal-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(file);
            let _ = fs::remove_file(&path);
            Self(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    fn run() -> Run {
        Run::of_this_program("roaming", 1, "tun", json!({ "repetitions": 20 }))
    }

    /// Cells are numbers, of which none is 0.
    fn open(path: &Path, run: &Run) -> Result<(Journal<u32>, Vec<u32>), String> {
        let name = |cell: &u32| match cell {
            0 => Err("it is nothing".to_owned()),
            cell => Ok(format!("cell {cell}")),
        };
        Journal::open(Some(path), run, name).map_err(|error| error.to_string())
    }

    #[test]
    fn an_interrupted_run_finds_what_it_had_finished() {
        let file = Scratch::new("resumed");
        let (mut journal, finished) = open(&file.0, &run()).unwrap();
        assert!(finished.is_empty());
        journal.add(&7).unwrap();
        journal.add(&8).unwrap();
        drop(journal);
        let (mut journal, finished) = open(&file.0, &run()).unwrap();
        assert_eq!(finished, [7, 8]);
        journal.add(&9).unwrap();
        drop(journal);
        assert_eq!(open(&file.0, &run()).unwrap().1, [7, 8, 9]);
    }

    /// Wherever a write stops.
    #[test]
    fn a_half_written_last_line_is_thrown_away() {
        let file = Scratch::new("half");
        let (mut journal, _) = open(&file.0, &run()).unwrap();
        journal.add(&1234).unwrap();
        journal.add(&5678).unwrap();
        drop(journal);
        let whole = fs::read(&file.0).unwrap();
        for length in 0..whole.len() {
            fs::write(&file.0, &whole[..length]).unwrap();
            let (mut journal, finished) = open(&file.0, &run()).unwrap();
            let ends = whole[..length].iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(finished, [1234, 5678][..ends.saturating_sub(1)], "{length}");
            journal.add(&9).unwrap();
            drop(journal);
            assert_eq!(open(&file.0, &run()).unwrap().1.last(), Some(&9), "{length}");
        }
    }

    #[test]
    fn the_journal_of_another_run_is_refused_with_the_difference() {
        let file = Scratch::new("other");
        drop(open(&file.0, &run()).unwrap());
        let mut machine = this_machine();
        machine.cores += 1;
        let others = [
            (Run { seed: 2, ..run() }, "its seed is 1, and this one's 2"),
            (Run { version: "9.9.9".to_owned(), ..run() }, "its version is"),
            (Run { revision: Some("abc".to_owned()), ..run() }, "this one's abc"),
            (Run { machine, ..run() }, "its machine is"),
            (Run { experiment: "load".to_owned(), ..run() }, "its experiment is roaming"),
            (Run { link: "loopback".to_owned(), ..run() }, "its kind of link is tun"),
            (Run { settings: json!({ "repetitions": 3 }), ..run() }, "its settings"),
        ];
        for (other, expected) in others {
            let refusal = open(&file.0, &other).err().unwrap();
            assert!(refusal.contains("--resume") && refusal.contains(expected), "{refusal}");
        }
        assert!(open(&file.0, &run()).is_ok());
    }

    #[test]
    fn a_file_that_is_no_journal_is_left_unchanged() {
        let file = Scratch::new("none");
        for text in ["a letter\nto a friend\n", "no end of a line", "{\"experiment\": \"x\"}\n"] {
            fs::write(&file.0, text).unwrap();
            assert!(open(&file.0, &run()).is_err(), "{text}");
            assert_eq!(fs::read_to_string(&file.0).unwrap(), text);
        }
        fs::remove_file(&file.0).unwrap();
        let (mut journal, _) = open(&file.0, &run()).unwrap();
        journal.add(&1).unwrap();
        drop(journal);
        let text = fs::read_to_string(&file.0).unwrap() + "nonsense\n2\n";
        fs::write(&file.0, &text).unwrap();
        let refusal = open(&file.0, &run()).err().unwrap();
        assert!(refusal.contains("line 3"), "{refusal}");
        assert_eq!(fs::read_to_string(&file.0).unwrap(), text);
    }

    #[test]
    fn cells_that_the_run_never_finishes_or_finished_twice_are_refused_by_their_line() {
        let file = Scratch::new("cells");
        drop(open(&file.0, &run()).unwrap());
        let first = fs::read_to_string(&file.0).unwrap();
        for (cells, words) in
            [("7\n0\n", "line 3 is no"), ("7\n8\n7\n", "line 4 is cell 7, and so is line 2")]
        {
            let text = format!("{first}{cells}");
            fs::write(&file.0, &text).unwrap();
            let refusal = open(&file.0, &run()).err().unwrap();
            assert!(refusal.contains(words), "{refusal}");
            assert_eq!(fs::read_to_string(&file.0).unwrap(), text);
        }
    }

    #[test]
    fn a_device_and_a_pipe_are_no_journals() {
        let pipe = Scratch::new("pipe");
        assert!(Command::new("mkfifo").arg(&pipe.0).status().unwrap().success());
        for path in [Path::new("/dev/full"), &pipe.0, &std::env::temp_dir()] {
            let refusal = open(path, &run()).err().unwrap();
            assert!(refusal.contains("not a regular file"), "{refusal}");
        }
    }

    /// A terminal would obey it.
    #[test]
    fn a_journals_text_is_printed_without_control_characters() {
        let file = Scratch::new("control");
        let evil = "\u{1b}]0;evil\u{7}\u{9b}2J\u{202e}";
        let there = Run { revision: Some(evil.to_owned()), ..run() };
        drop(open(&file.0, &there).unwrap());
        let refusal = open(&file.0, &run()).err().unwrap();
        assert!(
            refusal.contains(r"its revision is \u{1b}]0;evil\u{7}\u{9b}2J\u{202e}"),
            "{refusal}"
        );
        let there = Run { settings: json!({ "say": "it's" }), ..run() };
        let refusal = open(&file.0, &there).err().unwrap();
        assert!(!refusal.chars().any(char::is_control), "{refusal}");
        assert_eq!(printable(r#"{"say":"it's \"#), r#"{"say":"it's \"#);
    }

    #[test]
    fn two_runs_do_not_write_to_one_journal() {
        let file = Scratch::new("two");
        let first = open(&file.0, &run()).unwrap();
        assert!(open(&file.0, &run()).err().unwrap().contains("another run"));
        drop(first);
        assert!(open(&file.0, &run()).is_ok());
    }
}
