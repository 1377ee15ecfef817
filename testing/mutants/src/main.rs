//! Puts the mutants that `cargo mutants --list --json` names into the sources, all at once: each is a branch that is
//! taken where `TESSERA_MUTANT` is its number. So a crate is built once, and not once for each mutant.
//!
//!     tessera-mutants TREE LIB < MUTANTS
//!
//! `MUTANTS` is that list, each with a `number`; `LIB` is the `lib.rs` of their crate, which gets the function that
//! reads the variable. Writes the files in `TREE`, and prints where each mutant stands there, in bytes. What isn't
//! printed can't be a branch: it stands in a constant, or would need another grammar.

mod branches;
mod sites;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use serde::{Deserialize, Serialize};

use branches::Branches;

/// A mutant as cargo-mutants lists it.
#[derive(Deserialize)]
struct Mutant {
    number: u32,
    file: String,
    genre: Genre,
    replacement: String,
    span: Span,
}

/// The kinds of mutants in cargo-mutants' words.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Genre {
    FnValue,
    BinaryOperator,
    UnaryOperator,
    MatchArm,
    MatchArmGuard,
    StructField,
}

#[derive(Deserialize)]
struct Span {
    start: Position,
}

/// Both count from one, the column in characters.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Position {
    line: usize,
    column: usize,
}

/// Where a mutant stands in the written file.
#[derive(Serialize)]
struct MutantLocation {
    number: u32,
    file: String,
    /// What was inserted for this mutant alone.
    own: Vec<(usize, usize)>,
    /// All that it may replace.
    whole: (usize, usize),
}

/// What reads the variable. A crate without `std` has it here, for its tests have it.
const READER: &str = r#"
#[allow(missing_docs, unused)]
pub(crate) mod mutant {
    extern crate std;
    pub(crate) fn on() -> u32 {
        static ON: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
        *ON.get_or_init(|| std::env::var("TESSERA_MUTANT").ok().and_then(|it| it.parse().ok()).unwrap_or(0))
    }
}
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let [tree, lib] = &std::env::args().skip(1).collect::<Vec<_>>()[..] else {
        return Err("usage: tessera-mutants TREE LIB < MUTANTS".into());
    };
    let mutants: Vec<Mutant> = serde_json::from_reader(std::io::stdin())?;
    let mut by_file: BTreeMap<&str, Vec<&Mutant>> = BTreeMap::new();
    for mutant in &mutants {
        by_file.entry(&mutant.file).or_default().push(mutant);
    }
    let mut all = Vec::new();
    for (file, mutants) in by_file {
        let path = Path::new(tree).join(file);
        let text = std::fs::read_to_string(&path)?;
        let sites = sites::of(&syn::parse_file(&text)?);
        let mut branches = Branches::default();
        for (at, site) in &sites {
            let here = |it: &&&Mutant| (it.genre, it.span.start) == *at;
            branches.add(site, mutants.iter().filter(here).copied());
        }
        let (changed, written) = branches.apply(&text, file);
        std::fs::write(&path, changed)?;
        all.extend(written);
    }
    let path = Path::new(tree).join(lib);
    let text = std::fs::read_to_string(&path)?;
    std::fs::write(&path, text + READER)?;
    serde_json::to_writer(std::io::stdout(), &all)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Branches, Genre, Mutant, Position, Span, sites};

    const TEXT: &str = "fn f(a: u8) -> u8 {
    let b = a + 1 + 2;
    match a {
        0 if b > 1 => 1,
        7 => 2,
        _ => g(S { a, b, ..S::default() }),
    }
}
const C: u8 = 1 + 2;
";

    fn changed(genre: Genre, line: usize, column: usize, replacement: &str) -> String {
        let start = Position { line, column };
        let (file, replacement) = ("lib.rs".into(), replacement.into());
        let mutant = Mutant { number: 5, file, genre, replacement, span: Span { start } };
        let mut branches = Branches::default();
        for (at, site) in sites::of(&syn::parse_file(TEXT).expect("a file")) {
            branches.add(&site, [&mutant].into_iter().filter(|_| at == (genre, start)));
        }
        let (changed, written) = branches.apply(TEXT, "lib.rs");
        assert!(written.iter().all(|it| it.whole.0 < it.whole.1));
        syn::parse_file(&changed).expect("a file");
        let lines = changed.lines().zip(TEXT.lines()).filter(|(one, other)| one != other);
        lines.map(|(line, _)| line.trim()).collect()
    }

    #[test]
    fn a_mutant_is_a_branch_at_its_place() {
        for (genre, line, column, replacement, expected) in [
            (
                Genre::FnValue,
                2,
                5,
                "0",
                "if crate::mutant::on() == 5 { return 0; } let b = a + 1 + 2;",
            ),
            (
                Genre::BinaryOperator,
                2,
                19,
                "*",
                "let b = (match crate::mutant::on() { 5 => a + 1 * 2, _ => a + 1 + 2 });",
            ),
            (
                Genre::BinaryOperator,
                2,
                15,
                "-",
                "let b = (match crate::mutant::on() { 5 => a - 1, _ => a + 1 }) + 2;",
            ),
            (
                Genre::MatchArmGuard,
                4,
                14,
                "true",
                "0 if (match crate::mutant::on() { 5 => true, _ => b > 1 }) => 1,",
            ),
            (Genre::MatchArm, 4, 9, "", "0 if crate::mutant::on() != 5 && (b > 1) => 1,"),
            (Genre::MatchArm, 5, 9, "", "7 if crate::mutant::on() != 5 => 2,"),
            (
                Genre::StructField,
                6,
                20,
                "",
                "_ => g((match crate::mutant::on() { 5 => S { b , .. S :: default () }, _ => S { a, b, ..S::default() } })),",
            ),
            // Nothing runs yet where a constant is computed.
            (Genre::BinaryOperator, 9, 17, "-", ""),
        ] {
            assert_eq!(changed(genre, line, column, replacement), expected, "{genre:?}");
        }
    }
}
