//! `docs/results/roaming.md` and what makes its tables.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tessera_test_peers::Directory;
use tessera_test_peers::chromium;

fn results(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tessera"))
        .args(["lab", "results"])
        .args(arguments)
        .output()
        .expect("starts")
}

/// The reports and the text that are committed.
fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results")
}

fn text() -> String {
    fs::read_to_string(committed().join("roaming.md")).expect("the text")
}

/// Every number between marks comes from a sample: made again from the reports, nothing changes. Without reports
/// each table says that it isn't recorded.
#[test]
fn the_tables_of_the_results_are_those_of_the_reports() {
    let directory = Directory::new();
    let copy = directory.write("roaming.md", text());
    let reports = committed();
    let output = results(&[reports.to_str().expect("a path"), "--markdown", &copy]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let made = fs::read_to_string(&copy).expect("the copy");
    for (number, (made, committed)) in made.lines().zip(text().lines()).enumerate() {
        assert_eq!(committed, made, "line {} of docs/results/roaming.md", number + 1);
    }
    assert_eq!(made.len(), text().len());
    let has_reports =
        ["roaming.json", "load.json", "traffic.json"].map(|name| reports.join(name).exists());
    if has_reports == [false; 3] {
        let tables = made.matches("<!-- table ").count();
        assert_eq!(made.matches(" -->\nnot recorded yet\n<!-- end of table -->").count(), tables);
    }
}

#[test]
fn each_weak_point_is_answered_once() {
    let text = text();
    for point in 1..=21 {
        assert_eq!(text.matches(&format!("\n| W{point} | ")).count(), 1, "W{point}");
    }
}

/// What the text points to is there.
#[test]
fn the_links_of_the_results_lead_somewhere() {
    let text = text();
    let mut links = 0;
    for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        let file = target.split('#').next().expect("a target");
        // The page and the reports are made by `make results`.
        if !file.starts_with("http") && file.contains("..") {
            assert!(committed().join(file).exists(), "{target}");
            links += 1;
        }
    }
    assert!(links > 10, "{links}");
}

#[test]
fn directories_and_texts_that_cannot_be_are_refused() {
    let directory = Directory::new();
    let empty = directory.write("empty.md", "No marks.\n");
    let path = directory.path("");
    for (arguments, words) in [
        (["/nowhere", "--page", "-"], ["/nowhere", "roaming.json"]),
        ([&path, "--markdown", &empty], ["empty.md", "<!-- table setting -->"]),
    ] {
        let output = results(&arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        for word in words {
            assert!(stderr.contains(word), "{arguments:?}: no {word:?} in {stderr}");
        }
    }
    directory.write("load.json", "{}");
    let output = results(&[&path]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("load.json") && stderr.contains("missing field"), "{stderr}");
}

/// The page of a real report, in a browser: as wide as its room, on a phone too, and without a complaint.
#[test]
fn a_browser_shows_the_page_of_the_results_on_a_phone_too() {
    const MEASURE: &str =
        "<script>document.body.dataset.width = document.body.scrollWidth;</script></body>";
    let directory = Directory::new();
    let [json, page] = ["roaming.json", "roaming.html"].map(|name| directory.path(name));
    let cells = "through=engine,option=a|d,kx=x25519,suite=0x1302";
    let output = Command::new(env!("CARGO_BIN_EXE_tessera"))
        .args(["lab", "roaming", "--link", "loopback", "--repetitions", "7"])
        .args(["--cells", cells, "--json", &json])
        .output()
        .expect("starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = results(&[&directory.path(""), "--page", &page]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    for missing in ["load.json", "traffic.json"] {
        assert!(stderr.contains(&format!("{missing} is missing")), "{stderr}");
    }

    let shown = chromium::show(&format!("file://{page}"), 1280);
    assert!(shown.console.is_empty(), "{:?}", shown.console);
    for row in ["table-5/0", "table-5/1", "engine/1"] {
        assert_eq!(shown.dom.matches(&format!("data-row=\"{row}\"")).count(), 1, "{row}");
    }
    // (d) is its own baseline.
    assert!(shown.dom.contains("<td>1.00×</td>"));
    assert!(shown.dom.contains("data-table=\"storm\""), "what isn't recorded is said");
    let html = fs::read_to_string(&page).expect("the page");
    for (window, room) in [(500, 340), (960, 920)] {
        let style = format!("<style>html{{width:{room}px}}</style></head>");
        let narrow = html.replace("</head>", &style).replace("</body>", MEASURE);
        let page = directory.write("narrow.html", narrow);
        let dom = chromium::show(&format!("file://{page}"), window).dom;
        let width = dom.split("data-width=\"").nth(1).and_then(|rest| rest.split('"').next());
        assert_eq!(width, Some(room.to_string().as_str()), "of {room}");
    }
}
