//! `tessera manual` and `tessera completions`.

use std::fs;
use std::process::{Command, Output, Stdio};

use tessera_test_peers::{Directory, Network, Process};

fn tessera(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tessera")).args(arguments).output().unwrap()
}

fn stdout(arguments: &[&str]) -> String {
    let output = tessera(arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Collects each command with its help, recursively from `tessera`, by the names in the help.
fn commands(path: &[&str], all: &mut Vec<(String, String)>) {
    let help = stdout(&[path, &["--help"]].concat());
    let named = help.split_once("\nCommands:\n").map_or("", |(_, named)| named);
    let named = named.split("\n\n").next().unwrap_or_default();
    // Lines with more indentation continue a description.
    let named = named.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    for name in named {
        if !name.is_empty() && name != "help" {
            commands(&[path, &[name]].concat(), all);
        }
    }
    all.push(([&["tessera"], path].concat().join("-"), help));
}

/// Returns the long options at the beginning of a line of the help.
fn options(help: &str) -> impl Iterator<Item = &str> {
    // Descriptions may begin with an option too, but are indented further.
    let lines = help.lines().filter(|line| !line.starts_with("          "));
    let lines = lines.map(|line| line.trim_start().trim_start_matches("-q, "));
    let words = lines.filter(|line| line.starts_with("--"));
    words.filter_map(|line| line.split([' ', ',']).next())
}

#[test]
fn every_command_has_a_page_with_all_of_its_options_that_groff_reads_without_a_warning() {
    let directory = Directory::new();
    let pages = directory.path("made/for/it");
    assert_eq!(stdout(&["manual", &pages]), "");
    let mut all = Vec::new();
    commands(&[], &mut all);
    assert!(all.len() >= 8, "{:?}", all.iter().map(|(name, _)| name).collect::<Vec<_>>());
    for (name, help) in &all {
        let path = format!("{pages}/{name}.1");
        let page = fs::read_to_string(&path).unwrap();
        let options: Vec<_> = options(help).collect();
        assert!(options.is_empty() || page.contains(".SH OPTIONS"), "{name}");
        for option in options {
            let option = option.replace('-', "\\-");
            assert!(page.contains(&format!("\\fB{option}\\fR")), "{name}: {option}");
        }
        let mut groff =
            Process::start("groff", Network::None, ["-man", "-Tutf8", "-ww", "-P-cbou", &path]);
        assert!(groff.end_input().ends(), "{name}: {}", groff.stderr());
        assert_eq!(groff.stderr(), "", "{name}");
        let text = groff.stdout();
        for part in ["NAME", "SYNOPSIS", "DESCRIPTION", "SEE ALSO"] {
            assert!(text.contains(part), "{name}: {part}");
        }
    }
    assert_eq!(fs::read_dir(&pages).unwrap().count(), all.len(), "a page for nothing else");
    let examples = fs::read_to_string(format!("{pages}/tessera-serve.1")).unwrap();
    assert!(examples.contains(".SH EXAMPLES\n.nf\ntessera serve"), "{examples}");
}

#[test]
fn pages_that_can_not_be_written_are_an_error_with_the_reason() {
    let directory = Directory::new();
    let file = directory.write("file", "");
    for (place, why) in [(file.as_str(), "is a file"), (&format!("{file}/below"), "is a file")] {
        let output = tessera(&["manual", place]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(place) && told.contains(why), "{told}");
    }
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut completions = Command::new(env!("CARGO_BIN_EXE_tessera"));
    completions.args(["completions", "bash"]).stdout(full).stderr(Stdio::null());
    assert_eq!(completions.status().unwrap().code(), Some(1));
}

/// Returns what bash offers after these words.
fn offered(words: &str) -> Vec<String> {
    let script = format!(
        "source <(\"$0\" completions bash) && COMP_WORDS=({words}) && COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)) \
         && _tessera tessera \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\" \
         && printf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    let mut bash = Command::new("bash");
    let output =
        bash.args(["--norc", "-c", &script, env!("CARGO_BIN_EXE_tessera")]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_and_values() {
    for (words, expected) in [
        ("tessera con", "connect"),
        ("tessera tunnel ser", "server"),
        ("tessera connect --forw", "--forward-secret-early-data"),
        ("tessera connect --mode 0rtt-", "0rtt-fs"),
    ] {
        assert_eq!(offered(words), [expected], "{words}");
    }
    // Hidden commands are not offered.
    assert_eq!(offered("tessera lab endp"), [""]);
    let site = if cfg!(feature = "lab") { "sites" } else { "" };
    assert_eq!(offered("tessera lab si"), [site]);
}

#[test]
fn other_shells_have_completions_of_every_command() {
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let script = stdout(&["completions", shell]);
        for word in ["serve", "tunnel", "sessions-key"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        // The descriptions of the hidden commands begin with this.
        assert!(!script.contains("One end of"), "{shell}");
    }
}
