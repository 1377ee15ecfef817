//! Links between network namespaces, with programs at their ends.

use std::fs;

use tessera_link::{End, Link, LinkKind, LinkParameters};

/// Makes a link; `None` only if the machine forbids it to a user other than root.
pub(crate) fn link(parameters: &LinkParameters) -> Option<Link> {
    let link = Link::open(LinkKind::Auto, parameters).unwrap();
    if let Some(reason) = link.fallback_reason() {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        assert!(!status.contains("\nUid:\t0\t0"), "{reason}");
        eprintln!("not tested: {reason}");
        return None;
    }
    Some(link)
}

/// Does this at one end, where the programs that it starts are too.
pub(crate) fn at<T: Send + 'static>(
    link: &Link,
    end: End,
    job: impl FnOnce() -> T + Send + 'static,
) -> T {
    link.spawn_thread(end, job).unwrap().join().unwrap()
}
