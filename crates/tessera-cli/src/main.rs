//! The program `tessera`.
fn main() {}
