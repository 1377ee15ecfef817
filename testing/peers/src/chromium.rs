//! Pages in a headless Chromium.

use std::time::Duration;

use crate::{Network, Process};

/// A page as rendered by a browser.
pub struct RenderedPage {
    /// The document, after its scripts ran.
    pub dom: String,
    /// What the page wrote to the console, including complaints of the browser.
    pub console: Vec<String>,
}

/// Opens a page in a window of this width in pixels. Certificates are not checked.
///
/// Opens a page. One from a file must not need the network.
#[track_caller]
pub fn show(url: &str, width: u32) -> RenderedPage {
    let network = if url.starts_with("file:") { Network::None } else { Network::Loopback };
    let window = format!("--window-size={width},800");
    let options = [
        "--headless",
        // Its own sandbox needs privileges that it can't have here.
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--ignore-certificate-errors",
        // Containers have little shared memory.
        "--disable-dev-shm-usage",
        "--enable-logging=stderr",
        "--user-data-dir=profile",
        "--dump-dom",
        &window,
        url,
    ];
    let mut browser = Process::start("chromium", network, options);
    // A minute: a loaded machine starts a browser slowly.
    let succeeded = browser.end_input().ends_within(Duration::from_secs(60));
    let stderr = browser.stderr();
    assert!(succeeded, "Chromium failed: {stderr}");
    let console = stderr.lines().filter(|line| is_of_a_page(line)).map(Into::into).collect();
    RenderedPage { dom: browser.stdout(), console }
}

/// Whether this line of the log is from a page. The browser has its own pages, which complain about a slow machine.
fn is_of_a_page(line: &str) -> bool {
    line.contains("CONSOLE") && !line.contains(", source: chrome://")
}

#[cfg(test)]
mod tests {
    use super::is_of_a_page;

    #[test]
    fn text_of_the_browsers_own_pages_is_not_taken_for_the_pages() {
        assert!(is_of_a_page("[1:1:1122/0:INFO:CONSOLE:2] \"x\", source: file:///report.html (2)"));
        assert!(!is_of_a_page(
            "[1:1:1122/0:INFO:CONSOLE:5] \"Slow network\", source: chrome://a/b.js (5)"
        ));
        assert!(!is_of_a_page("[1:1:1122/0:ERROR:bus.cc] no bus"));
    }
}
