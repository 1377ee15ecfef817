//! A peer's text, which may be megabytes of anything.

/// Shortens to a line.
pub(super) fn shortened(text: &str) -> String {
    const LIMIT: usize = 160;
    let mut line = text.chars().map(|char| if char.is_control() { ' ' } else { char });
    let mut short: String = line.clone().take(LIMIT).collect();
    if line.nth(LIMIT).is_some() {
        short.push('…');
    }
    short
}
