//! `scripts/results`: what it considers complete, and what it measures again. A script replaces `tessera`, and measures
//! nothing.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{env, fs};

use tessera_test_peers::Directory;

/// Logs its arguments, and prints the report in the directory of reports.
const TESSERA: &str = r#"#!/bin/sh
echo "$*" >> "$TRACE"
name=$2
while [ $# -gt 0 ]; do
    case $1 in
        --json) cp "$REPORTS/$name.json" "$2" ;;
        --resume) [ -e "$2" ] || echo '{}' > "$2" ;;
    esac
    shift
done
"#;

/// The reports.
const NAMES: [&str; 7] = ["embedded", "roaming", "load", "traffic", "bithac", "edge", "dtls"];

const NO_ETCD: &str = "the program `etcd` is not on PATH";
const NO_EARLY_DATA: &str = "a SEPP sends no replayable early data";

/// A directory for a run: programs, and the resulting reports.
struct Place {
    directory: Directory,
    has_etcd: bool,
    repetitions: Option<&'static str>,
    _alone: MutexGuard<'static, ()>,
}

/// A program that a child of another thread holds open for writing can't be started.
static ALONE: Mutex<()> = Mutex::new(());

impl Place {
    /// Makes one with all prerequisites, where every report has all its cells.
    fn new() -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = Directory::new();
        for name in ["bin", "reports", "results", "tmp"] {
            fs::create_dir(directory.path(name)).expect("a directory");
        }
        for program in [
            "basename",
            "bash",
            "cat",
            "cp",
            "dirname",
            "grep",
            "head",
            "mkdir",
            "mktemp",
            "mv",
            "realpath",
            "rm",
            "seq",
            "sha256sum",
            "sh",
            "sort",
            "tail",
            "uniq",
        ] {
            symlink(found(program), directory.path(&format!("bin/{program}"))).expect("a link");
        }
        let place = Self { directory, has_etcd: true, repetitions: None, _alone: alone };
        place.program("bin/etcd", "#!/bin/sh\n");
        place.program("tessera", TESSERA);
        for name in NAMES {
            place.reports(name, &[]);
        }
        place
    }

    fn program(&self, name: &str, text: &str) {
        let path = self.directory.write(name, text);
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).expect("it is ours");
    }

    /// Sets what an experiment reports from now on: cells without numbers, for these reasons.
    fn reports(&self, name: &str, reasons: &[&str]) {
        let not_run: Vec<_> = reasons
            .iter()
            .map(|it| format!("    {{\n      \"reason\": \"{it}\"\n    }}"))
            .collect();
        let report = format!("{{\n  \"not_run\": [\n{}\n  ]\n}}\n", not_run.join(",\n"));
        self.directory.write(&format!("reports/{name}.json"), report);
    }

    /// Runs the script.
    fn run(&self, quick: bool, arguments: &[&str]) -> Output {
        self.run_of(None, quick, arguments)
    }

    /// Runs it for one paper.
    fn run_of(&self, of: Option<&str>, quick: bool, arguments: &[&str]) -> Output {
        if !self.has_etcd {
            let _ = fs::remove_file(self.directory.path("bin/etcd"));
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/results");
        let mut command = Command::new(self.directory.path("bin/bash"));
        command.arg(script).args(arguments).env_clear();
        command.env("PATH", self.directory.path("bin")).env("TMPDIR", self.directory.path("tmp"));
        command.env("TESSERA", self.directory.path("tessera"));
        command.env("REPORTS", self.directory.path("reports"));
        command.env("TRACE", self.directory.path("trace"));
        if quick {
            command.env("RESULTS_QUICK", "1");
        }
        if let Some(of) = of {
            command.env("RESULTS_OF", of);
        }
        if let Some(repetitions) = self.repetitions {
            command.env("RESULTS_REPETITIONS", repetitions);
        }
        command.output().expect("starts")
    }

    /// Runs it for the directory `results`; returns its exit code and output.
    fn ended(&self, quick: bool) -> (Option<i32>, String) {
        let output = self.run(quick, &[&self.directory.path("results")]);
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).expect("words"))
    }

    /// Returns how often each `tessera lab NAME` was asked for its report since the last call.
    fn measured(&self) -> [usize; 7] {
        let path = self.directory.path("trace");
        let trace = fs::read_to_string(&path).unwrap_or_default();
        let _ = fs::remove_file(path);
        NAMES.map(|name| {
            let of =
                |line: &&str| line.starts_with(&format!("lab {name} ")) && line.contains("--json");
            trace.lines().filter(of).count()
        })
    }

    fn has(&self, name: &str) -> bool {
        Path::new(&self.directory.path("results")).join(name).exists()
    }
}

fn found(program: &str) -> PathBuf {
    let path = env::var_os("PATH").expect("PATH");
    let mut places = env::split_paths(&path).map(|directory| directory.join(program));
    places.find(|path| path.exists()).expect("every program of the script is on PATH")
}

#[test]
fn a_complete_run_leaves_its_reports_and_nothing_else() {
    let place = Place::new();
    place.reports("roaming", &[NO_EARLY_DATA]);
    let (code, said) = place.ended(false);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(place.measured(), [1, 1, 1, 1, 1, 1, 1], "traffic ran with the cells that wait");
    for name in NAMES {
        assert!(place.has(&format!("{name}.json")), "{name}");
    }
    for name in ["embedded", "roaming", "bithac", "edge", "mobile"] {
        let texts = [format!("{name}.md"), format!("{name}-tables.md")];
        assert!(texts.iter().all(|text| place.has(text)), "{name}");
    }
    for name in [
        ".roaming.done",
        ".traffic.done",
        ".roaming.journal",
        ".load.journal",
        ".bithac.journal",
        ".edge.journal",
        ".dtls.journal",
    ] {
        assert!(!place.has(name), "{name}");
    }
}

#[test]
fn one_paper_can_be_measured_alone() {
    let place = Place::new();
    let output = place.run_of(Some("bithac"), false, &[&place.directory.path("results")]);
    let said = String::from_utf8([output.stdout, output.stderr].concat()).expect("words");
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(place.measured(), [0, 0, 0, 0, 1, 0, 0]);
    assert!(place.has("bithac.md") && !place.has("roaming.md"));
}

#[test]
fn a_paper_is_measured_as_often_as_it_is_asked_for() {
    let mut place = Place::new();
    let mut asked = |repetitions| {
        place.repetitions = repetitions;
        place.run_of(Some("bithac"), false, &[&place.directory.path("results")]);
        let path = place.directory.path("trace");
        let trace = fs::read_to_string(&path).expect("what was called");
        fs::remove_file(path).expect("it is ours");
        trace
    };
    assert!(asked(None).contains("--repetitions 35 "));
    assert!(asked(Some("10")).contains("--repetitions 10 "));
}

/// One unknown reason among a thousand known ones: more than a pipe holds.
#[test]
fn a_run_with_cells_without_numbers_is_not_complete() {
    let place = Place::new();
    let mut reasons = vec!["the link failed"];
    reasons.resize(2_000, NO_EARLY_DATA);
    place.reports("roaming", &reasons);
    let (code, said) = place.ended(false);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("cells of roaming have no numbers") && said.contains("the link failed"));
    assert!(place.has(".roaming.journal") && !place.has(".roaming.done"));
    assert_eq!(place.measured(), [1, 1, 1, 1, 1, 1, 1]);
    // Only what lacks numbers is measured again; then the results are complete.
    place.reports("roaming", &[NO_EARLY_DATA]);
    let (code, said) = place.ended(false);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("traffic was measured before") && said.contains("load was measured before")
    );
    assert_eq!(place.measured(), [0, 1, 0, 0, 0, 0, 0]);
}

#[test]
fn measurements_of_another_program_or_other_options_are_repeated() {
    let place = Place::new();
    place.reports("roaming", &["the link failed"]);
    assert_eq!(place.ended(true).0, Some(1));
    assert_eq!(place.measured(), [1, 1, 1, 1, 1, 1, 1]);
    assert_eq!(place.ended(true).0, Some(1));
    assert_eq!(place.measured(), [0, 1, 0, 0, 0, 0, 0], "the same again");
    let (_, said) = place.ended(false);
    assert!(said.contains("traffic.json is of another program or of other options"), "{said}");
    assert_eq!(place.measured(), [1, 1, 1, 1, 1, 1, 1], "a quick run is no long one");
    place.program("tessera", &format!("{TESSERA}# of another revision\n"));
    assert_eq!(place.ended(false).0, Some(1));
    assert_eq!(place.measured(), [1, 1, 1, 1, 1, 1, 1], "nor is another program's");
    fs::write(place.directory.path("results/load.json"), "{}").expect("it is ours");
    assert_eq!(place.ended(false).0, Some(1));
    assert_eq!(place.measured(), [0, 1, 1, 0, 0, 0, 0], "nor a report that was changed");
}

#[test]
fn without_etcd_its_rows_have_no_numbers_and_that_is_known() {
    let mut place = Place::new();
    place.reports("roaming", &[NO_EARLY_DATA, NO_ETCD]);
    assert_eq!(place.ended(false).0, Some(1), "there is an etcd");
    place.has_etcd = false;
    let (code, said) = place.ended(false);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("there is no program etcd on PATH"), "{said}");
    place.reports("roaming", &[NO_ETCD, "the program `etcd` can't be started: no room"]);
    assert_eq!(place.ended(false).0, Some(1), "any other reason may be gone");
}

#[test]
fn a_quick_run_never_lies_where_results_are_kept() {
    let place = Place::new();
    let output = place.run(true, &[]);
    let said = String::from_utf8(output.stdout).expect("words");
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains(&place.directory.path("tmp/tessera-results.")), "{said}");
    place.measured();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results");
    let output = place.run(true, &[kept.to_str().expect("a path")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("RESULTS_QUICK"));
    assert_eq!(place.measured(), [0, 0, 0, 0, 0, 0, 0]);
}
