//! Invalid configurations: both commands report the same, with file, line, key and what to do.

use super::world::World;
use crate::program::{stderr, tessera};

#[test]
fn an_impossible_configuration_is_reported_with_exit_code_2() {
    let world = World::new();
    let good = world.text(&world.home, &world.visited, "");
    for (old, new, line, told) in [
        (
            "drain = \"5s\"",
            "drian = \"5s\"",
            ":4",
            "[process] has no key `drian`; did you mean `drain`?",
        ),
        ("plmns = [\"999-70\"]", "plmns = [\"99970\"]", ":12", "a PLMN ID is MCC-MNC"),
        ("anchor = \"visited\"", "anchor = \"x\"", ":21", "[peer.visited] anchor: no [trust.x]"),
        ("sepp1.5gc", "sepp9.5gc", "", "is not among the names (subjectAltName)"),
        ("root.pem", "not-there.pem", "", "no such file"),
    ] {
        assert!(good.contains(old), "{old}");
        let file = world.write(&world.home, &good.replace(old, new));
        let [checked, ran] = ["check", "run"].map(|task| {
            let output = tessera().args(["sepp", task, &file]).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
            stderr(&output)
        });
        assert!(checked.contains(told), "{checked}");
        if !line.is_empty() {
            assert!(checked.contains(&format!("{file}{line}: ")), "{checked}");
        }
        assert!(ran.contains(checked.trim_start_matches("error: ").trim()), "{ran}\n{checked}");
    }
}
