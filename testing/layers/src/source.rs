//! What the modules of a crate define, re-export and use.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A parsed module.
#[derive(Default)]
pub(crate) struct Module {
    /// Every path that names an item of this crate, and perhaps some of other crates.
    pub(crate) imports: Vec<Import>,
    /// What `use` imports into the module, by its local name.
    pub(crate) names: BTreeMap<String, Import>,
    /// What `use` imports as `*`.
    pub(crate) globs: Vec<Import>,
    pub(crate) defines: BTreeSet<String>,
    /// All words of the file: macros define names too.
    pub(crate) mentions: BTreeSet<String>,
    /// Whether some of its code is only compiled for tests.
    pub(crate) has_tests: bool,
    /// The modules below in separate files.
    children: Vec<Child>,
}

/// A module in a separate file, with its `#[path]` if it has one.
struct Child {
    name: String,
    path: Option<String>,
}

/// A path as written, and where.
#[derive(Clone)]
pub(crate) struct Import {
    base: Vec<String>,
    segments: Vec<String>,
}

impl fmt::Display for Import {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.segments.join("::"))
    }
}

impl Import {
    /// Returns the path from the crate's root; `None` if it leads to another crate.
    pub(crate) fn absolute(&self, modules: &BTreeMap<Vec<String>, Module>) -> Option<Vec<String>> {
        let (mut at, mut rest) = (self.base.clone(), self.segments.as_slice());
        match rest.first().map(String::as_str) {
            Some("crate") => at.clear(),
            Some("self" | "super") => (),
            Some(name) => {
                at.push(name.to_owned());
                return modules.contains_key(&at).then(|| [&self.base, rest].concat());
            }
            None => return None,
        }
        while let Some((word, after)) = rest.split_first() {
            match word.as_str() {
                "crate" | "self" => (),
                "super" => drop(at.pop()),
                _ => break,
            }
            rest = after;
        }
        Some([at.as_slice(), rest].concat())
    }
}

/// Returns all modules below a crate's root, by their paths.
pub(crate) fn read(root: &Path) -> io::Result<BTreeMap<Vec<String>, Module>> {
    let mut modules = BTreeMap::new();
    let folder = root.parent().unwrap_or(root).to_owned();
    let mut left = vec![(Vec::new(), root.to_owned(), folder)];
    while let Some((path, file, folder)) = left.pop() {
        let text = fs::read_to_string(&file)?;
        let tokens: TokenStream = text
            .parse()
            .map_err(|error| io::Error::other(format!("{}: not Rust: {error}", file.display())))?;
        let mut module = Module::default();
        module.read(&path, tokens);
        for Child { name, path: elsewhere } in &module.children {
            let (file, below) = match elsewhere {
                Some(elsewhere) => {
                    let file = file.parent().unwrap_or(root).join(elsewhere);
                    let below = file.parent().unwrap_or(root).to_owned();
                    (file, below)
                }
                None => {
                    let below = folder.join(name);
                    let (alone, front) = (folder.join(format!("{name}.rs")), below.join("mod.rs"));
                    (if alone.exists() { alone } else { front }, below)
                }
            };
            left.push(([path.as_slice(), std::slice::from_ref(name)].concat(), file, below));
        }
        modules.insert(path, module);
    }
    Ok(modules)
}

impl Module {
    /// Reads the code at this path: that of the module, or of one in braces.
    fn read(&mut self, at: &[String], tokens: TokenStream) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let mut rest = tokens.as_slice();
        let mut elsewhere = None;
        while let Some((token, after)) = rest.split_first() {
            rest = after;
            match token {
                TokenTree::Punct(punct) if punct.as_char() == '#' => {
                    elsewhere = path_attribute(rest).or(elsewhere);
                    self.has_tests |= is_only_for_tests(rest);
                    rest = after_attribute(rest);
                }
                TokenTree::Group(group) => self.read(at, group.stream()),
                TokenTree::Ident(word) => {
                    self.mentions.insert(word.to_string());
                    match (word.to_string().as_str(), rest) {
                        ("mod", [TokenTree::Ident(name), TokenTree::Group(body), after @ ..]) => {
                            self.read(&[at, &[name.to_string()]].concat(), body.stream());
                            rest = after;
                        }
                        ("mod", [TokenTree::Ident(name), ..]) => self
                            .children
                            .push(Child { name: name.to_string(), path: elsewhere.take() }),
                        ("use", _) => rest = self.read_use(at, &[], rest),
                        ("crate" | "super" | "self", _) if starts_with_colons(rest) => {
                            let mut segments = vec![word.to_string()];
                            rest = read_segments(&mut segments, rest);
                            self.imports.push(Import { base: at.to_vec(), segments });
                        }
                        (
                            "struct" | "enum" | "union" | "trait" | "fn" | "type" | "const"
                            | "static",
                            [TokenTree::Ident(name), ..],
                        ) => drop(self.defines.insert(name.to_string())),
                        _ => (),
                    }
                }
                _ => (),
            }
        }
    }

    /// Reads one path of a `use`, with what is in its braces; returns the rest.
    fn read_use<'t>(
        &mut self,
        at: &[String],
        before: &[String],
        mut rest: &'t [TokenTree],
    ) -> &'t [TokenTree] {
        let mut segments = before.to_vec();
        loop {
            match rest {
                [TokenTree::Ident(word), after @ ..] => {
                    segments.push(word.to_string());
                    rest = after;
                }
                [TokenTree::Group(group), after @ ..] if group.delimiter() == Delimiter::Brace => {
                    let inner: Vec<_> = group.stream().into_iter().collect();
                    let mut inner = inner.as_slice();
                    while !inner.is_empty() {
                        inner = self.read_use(at, &segments, inner);
                    }
                    return skip_separator(after);
                }
                [TokenTree::Punct(star), after @ ..] if star.as_char() == '*' => {
                    let import = Import { base: at.to_vec(), segments };
                    self.globs.push(import.clone());
                    self.imports.push(import);
                    return skip_separator(after);
                }
                _ => (),
            }
            if starts_with_colons(rest) {
                rest = rest.get(2..).unwrap_or_default();
                continue;
            }
            let mut name = segments.last().cloned().unwrap_or_default();
            if name == "self" {
                segments.pop();
                name = segments.last().cloned().unwrap_or_default();
            }
            if let [TokenTree::Ident(word), TokenTree::Ident(alias), after @ ..] = rest
                && word == "as"
            {
                name = alias.to_string();
                rest = after;
            }
            let import = Import { base: at.to_vec(), segments };
            self.names.insert(name, import.clone());
            self.imports.push(import);
            return skip_separator(rest);
        }
    }
}

/// Returns the rest after a `,` or `;`, if there is one.
fn skip_separator(rest: &[TokenTree]) -> &[TokenTree] {
    match rest {
        [TokenTree::Punct(punct), after @ ..] if ",;".contains(punct.as_char()) => after,
        other => other,
    }
}

fn starts_with_colons(rest: &[TokenTree]) -> bool {
    let colon = |token: &TokenTree| matches!(token, TokenTree::Punct(it) if it.as_char() == ':');
    matches!(rest, [one, two, ..] if colon(one) && colon(two))
}

/// Reads `::a::b`; returns the rest.
fn read_segments<'t>(segments: &mut Vec<String>, mut rest: &'t [TokenTree]) -> &'t [TokenTree] {
    while starts_with_colons(rest)
        && let [_, _, TokenTree::Ident(word), after @ ..] = rest
    {
        segments.push(word.to_string());
        rest = after;
    }
    rest
}

/// Returns the file that a `#[path = "..."]` names.
fn path_attribute(rest: &[TokenTree]) -> Option<String> {
    let [TokenTree::Group(attribute), ..] = rest else { return None };
    let tokens: Vec<_> = attribute.stream().into_iter().collect();
    match tokens.as_slice() {
        [TokenTree::Ident(word), _, TokenTree::Literal(file)] if word == "path" => {
            Some(file.to_string().trim_matches('"').to_owned())
        }
        _ => None,
    }
}

/// Whether an attribute is `#[cfg(test)]`.
fn is_only_for_tests(rest: &[TokenTree]) -> bool {
    let [TokenTree::Group(attribute), ..] = rest else { return false };
    attribute.stream().to_string().replace(' ', "") == "cfg(test)"
}

/// Returns the rest after an attribute; after `#[cfg(test)]` its item is skipped.
fn after_attribute(mut rest: &[TokenTree]) -> &[TokenTree] {
    if let [TokenTree::Punct(inner), after @ ..] = rest
        && inner.as_char() == '!'
    {
        rest = after;
    }
    let [TokenTree::Group(_), after @ ..] = rest else { return rest };
    if !is_only_for_tests(rest) {
        return after;
    }
    let is_use = matches!(after, [TokenTree::Ident(word), ..] if word == "use");
    let ends = |token: &TokenTree| match token {
        TokenTree::Punct(punct) => punct.as_char() == ';',
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace && !is_use,
        _ => false,
    };
    let end = after.iter().position(ends).map_or(after.len(), |end| end + 1);
    after.get(end..).unwrap_or_default()
}
