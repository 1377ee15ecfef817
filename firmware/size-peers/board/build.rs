//! Lets the linker find the images' `memory.x`, which cortex-m-rt's `link.x` includes.

fn main() {
    println!("cargo:rustc-link-search={}/../..", env!("CARGO_MANIFEST_DIR"));
    println!("cargo:rerun-if-changed=../../memory.x");
}
