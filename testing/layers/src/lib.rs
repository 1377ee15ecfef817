//! Whether imports inside a crate point down.
//!
//! In each folder the modules, files and folders alike, form a graph: an arrow goes from a module whose code names an
//! item to the module that has it. In a circle, no module can be read, tested or moved without the others. [`circles`]
//! finds them; [`out_of_order`] finds violations of a given order.
//!
//! - A name that a module imports from a folder's `mod.rs`, which only re-exports it (`use`), counts as imported from
//!   where it is defined.
//! - A folder's `mod.rs` is the front of its contents. Its children may use what it defines, and it may use them: that
//!   is no circle.
//! - Code that is only compiled for tests (`#[cfg(test)]`) doesn't count.
#![forbid(unsafe_code)]

mod graph;
mod source;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use graph::Graph;
use source::{Module, read};

/// Returns the circles of a crate, given its `lib.rs` or `main.rs`: at most one per folder, with the imports that form
/// it.
///
/// # Errors
/// If a file can't be read or is no Rust.
pub fn circles(root: &Path) -> io::Result<Vec<String>> {
    let modules = read(root)?;
    let graphs = graphs(&modules);
    let found = graphs.iter().filter_map(|(folder, graph)| {
        let place = if folder.is_empty() { "the crate".to_owned() } else { folder.join("::") };
        graph.circle().map(|circle| format!("in {place}: {circle}"))
    });
    Ok(found.collect())
}

/// Returns the imports that don't point down in this order of the crate's top folder, given from the top; and the
/// modules that it lacks, or that don't exist.
///
/// # Errors
/// If a file can't be read or is no Rust.
pub fn out_of_order(root: &Path, order: &[&str]) -> io::Result<Vec<String>> {
    let modules = read(root)?;
    let floors: Vec<_> = modules.keys().filter(|path| path.len() == 1).flatten().collect();
    let unnamed = floors.iter().filter(|floor| !order.contains(&floor.as_str()));
    let unnamed = unnamed.map(|floor| format!("{floor} is not in the order"));
    let absent = order.iter().filter(|name| !floors.iter().any(|floor| floor == *name));
    let absent = absent.map(|name| format!("{name} is no module"));
    let upward = graphs(&modules).remove([].as_slice()).map(|graph| graph.upward(order));
    Ok(unnamed.chain(absent).chain(upward.unwrap_or_default()).collect())
}

/// Whether a target has tests among its modules, given its `lib.rs` or `main.rs`.
///
/// # Errors
/// If a file can't be read or is no Rust.
pub fn has_tests(root: &Path) -> io::Result<bool> {
    Ok(read(root)?.values().any(|module| module.has_tests))
}

/// Builds the graph of each folder.
fn graphs(modules: &Modules) -> BTreeMap<&[String], Graph<'_>> {
    let mut folders: BTreeMap<&[String], Graph<'_>> = BTreeMap::new();
    for (from, module) in modules {
        for import in &module.imports {
            let Some(path) = import.absolute(modules) else { continue };
            let to = origin(modules, path, 0);
            let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
            if let (Some(user), Some(used)) = (from.get(shared), to.get(shared)) {
                let folder = folders.entry(from.get(..shared).unwrap_or_default()).or_default();
                folder.arrow(user, used.clone(), format!("{} uses {import}", from.join("::")));
            }
        }
    }
    folders
}

/// All modules of a crate, by their paths.
type Modules = BTreeMap<Vec<String>, Module>;

/// Returns the module that defines what a path from the crate's root names.
fn origin(modules: &Modules, path: Vec<String>, passed_on: usize) -> Vec<String> {
    let is_module = |len: &usize| path.get(..*len).is_some_and(|at| modules.contains_key(at));
    let len = (0..=path.len()).rev().find(is_module).unwrap_or_default();
    let (at, rest) = path.split_at(len);
    let (Some(module), Some((name, rest))) = (modules.get(at), rest.split_first()) else {
        return path;
    };
    // A name that is re-exported in a circle is rustc's concern.
    if passed_on > 16 || module.defines.contains(name) {
        return at.to_vec();
    }
    if let Some(import) = module.names.get(name) {
        return match import.absolute(modules) {
            Some(target) => origin(modules, [target.as_slice(), rest].concat(), passed_on + 1),
            // Another crate's.
            None => at.to_vec(),
        };
    }
    let mut globs = module.globs.iter().filter_map(|glob| glob.absolute(modules));
    let from_glob =
        globs.find(|glob| modules.get(glob).is_some_and(|it| it.mentions.contains(name)));
    from_glob.unwrap_or_else(|| at.to_vec())
}
