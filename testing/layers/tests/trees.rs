//! Small trees with a circle and without.
#![allow(clippy::unwrap_used, reason = "the helpers here are tests too")]

use std::fs;
use std::path::{Path, PathBuf};

use tessera_layers::{circles, out_of_order};

/// Returns the circles of a crate of these files.
fn circles_of(name: &str, files: &[(&str, &str)]) -> Vec<String> {
    circles(&write(name, files)).unwrap()
}

/// Writes a crate of these files; returns its root.
fn write(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&root);
    for (file, text) in files {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root.join("lib.rs")
}

#[test]
fn a_circle_of_folders_is_found_with_its_imports() {
    let found = circles_of(
        "folders",
        &[
            ("lib.rs", "mod ground; mod page; mod sites;"),
            ("ground.rs", "pub struct Stone;"),
            ("page/mod.rs", "mod figure; pub use figure::draw;"),
            ("page/figure.rs", "use crate::sites::Path; pub fn draw(_: Path) {}"),
            ("sites/mod.rs", "mod table; pub struct Path; use crate::ground::Stone;"),
            ("sites/table.rs", "fn row() { crate::page::draw(super::Path) }"),
        ],
    );
    let circle = "in the crate: page -> sites -> page (page::figure uses crate::sites::Path; \
                  sites::table uses crate::page::draw)";
    assert_eq!(found, [circle]);
}

#[test]
fn a_circle_inside_a_folder_is_found_through_its_front() {
    let found = circles_of(
        "front",
        &[
            ("lib.rs", "mod wire;"),
            (
                "wire/mod.rs",
                "mod reader; mod hello; pub use {reader::Reader, hello::{self, Hello}};",
            ),
            ("wire/reader.rs", "pub struct Reader; macro_rules! m { () => { super::Hello } }"),
            ("wire/hello.rs", "use super::{Reader as Bytes}; pub struct Hello(Bytes);"),
        ],
    );
    assert!(
        found.len() == 1 && found[0].starts_with("in wire: hello -> reader -> hello"),
        "{found:?}"
    );
}

#[test]
fn a_name_from_a_glob_counts_where_it_is_defined() {
    let files = |hello: &'static str| {
        [
            ("lib.rs", "mod wire;"),
            ("wire/mod.rs", "mod points; mod hello; pub use points::*; pub struct Own;"),
            ("wire/points.rs", "make! { Suite } use super::hello::Hello;"),
            ("wire/hello.rs", hello),
        ]
    };
    assert_eq!(circles_of("glob", &files("use super::Suite; pub struct Hello;")).len(), 1);
    assert!(circles_of("own", &files("use super::Own; pub struct Hello;")).is_empty());
}

#[test]
fn imports_that_point_down_are_no_circle() {
    let found = circles_of(
        "down",
        &[
            ("lib.rs", "mod a; mod b; pub use a::Top; use std::fmt; pub struct Error;"),
            ("a.rs", "use crate::b::Bottom; // use crate::a;\npub struct Top(Bottom);"),
            (
                "b/mod.rs",
                "mod c; pub struct Bottom; use crate::Error; \
                 /* crate::a */ const TEXT: &str = \"crate::a::Top\"; \
                 #[cfg(test)] mod tests; \
                 #[cfg(test)] use crate::a::{Top}; \
                 #[cfg(test)] mod more { use crate::a::Top; } \
                 fn f() { c::g() }",
            ),
            ("b/tests.rs", "use crate::a::Top;"),
            ("b/c.rs", "use super::Bottom; pub fn g() {}"),
        ],
    );
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_circle_through_a_file_that_is_elsewhere_is_found() {
    let found = circles_of(
        "elsewhere",
        &[
            ("lib.rs", "#[path = \"shared/parts.rs\"] mod parts; #[cfg(unix)] mod own;"),
            ("shared/parts.rs", "mod small; pub struct Part; pub use small::Small;"),
            ("shared/small.rs", "pub struct Small(crate::own::Own);"),
            ("own.rs", "pub struct Own; use crate::parts::Small;"),
        ],
    );
    assert!(
        found.len() == 1 && found[0].starts_with("in the crate: own -> parts -> own"),
        "{found:?}"
    );
}

#[test]
fn an_import_that_points_up_in_the_order_is_found() {
    let root = write(
        "order",
        &[
            ("lib.rs", "mod alert; mod handshake; mod wire;"),
            ("alert.rs", "pub struct Alert;"),
            ("handshake.rs", "use crate::wire::Reader; pub struct Epoch(Reader);"),
            ("wire.rs", "use crate::alert::Alert; pub struct Reader(Alert);"),
        ],
    );
    assert!(out_of_order(&root, &["handshake", "wire", "alert"]).unwrap().is_empty());
    let up = ["wire uses crate::alert::Alert"];
    assert_eq!(out_of_order(&root, &["alert", "handshake", "wire"]).unwrap(), up);
    let lists = ["wire is not in the order", "record is no module"];
    let found = out_of_order(&root, &["record", "handshake", "alert"]).unwrap();
    assert!(lists.iter().all(|wrong| found.iter().any(|it| it == wrong)), "{found:?}");
}
