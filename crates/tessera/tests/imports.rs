//! Imports inside the engine point down.

use std::fs;
use std::path::Path;

/// The lowest floors, and what each may import besides itself.
const FLOORS: [(&str, &[&str]); 7] = [
    ("code_point.rs", &[]),
    ("carrier.rs", &["code_point"]),
    ("limits.rs", &[]),
    ("alert.rs", &["code_point"]),
    ("error.rs", &["alert"]),
    ("wire", &["alert", "code_point", "error", "limits"]),
    ("crypto", &["error", "wire"]),
];

/// The sources at `path`, or below it.
fn sources(path: &Path) -> Vec<String> {
    if path.is_file() {
        return vec![fs::read_to_string(path).expect("reads")];
    }
    let entries = fs::read_dir(path).expect("lists");
    entries.flat_map(|entry| sources(&entry.expect("an entry").path())).collect()
}

#[test]
fn the_lowest_floors_import_nothing_from_above() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (floor, allowed) in FLOORS {
        let own = floor.trim_end_matches(".rs");
        let mut imports = 0;
        for source in sources(&src.join(floor)) {
            for import in source.split("crate::").skip(1) {
                let room = import.split(|c: char| !c.is_alphanumeric() && c != '_').next();
                let room = room.unwrap_or_default();
                assert!(room == own || allowed.contains(&room), "{floor} imports {room}");
                imports += 1;
            }
        }
        assert!(imports > 0 || allowed.is_empty(), "{floor} imports nothing any more");
    }
}
