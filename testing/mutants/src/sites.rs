//! The places of a file where a mutant can be a branch.

use std::ops::Range;

use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Arm, Block, Expr, ExprStruct, Signature};

use crate::{Genre, Position};

/// A place, with its bytes in the file.
pub(crate) enum Site {
    /// A function's first statement.
    Body(usize),
    /// An operator with its operands, which one side of a branch repeats.
    Operator { whole: Range<usize>, left: String, right: String },
    /// A match guard.
    Guard(Range<usize>),
    /// An arm of this match, whose guard is here, or whose pattern ends here.
    Arm { whole: Range<usize>, guard: Option<Range<usize>>, pattern_end: usize },
    /// A struct expression, and what it is without the field.
    Field { whole: Range<usize>, without: String },
}

/// Finds the places of a file, those that contain others first.
pub(crate) fn of(file: &syn::File) -> Vec<((Genre, Position), Site)> {
    let mut found = Finder::default();
    found.visit_file(file);
    found.sites
}

#[derive(Default)]
struct Finder {
    sites: Vec<((Genre, Position), Site)>,
}

impl Finder {
    fn add(&mut self, genre: Genre, at: &impl Spanned, site: Site) {
        let start = at.span().start();
        self.sites.push(((genre, Position { line: start.line, column: start.column + 1 }), site));
    }

    fn function(&mut self, signature: &Signature, block: &Block) {
        // A branch can't be chosen where nothing is run yet.
        if signature.constness.is_some() {
            return;
        }
        if let Some(first) = block.stmts.first() {
            self.add(Genre::FnValue, first, Site::Body(bytes(first).start));
        }
        self.visit_block(block);
    }
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_fn(&mut self, it: &'ast syn::ItemFn) {
        self.function(&it.sig, &it.block);
    }

    fn visit_impl_item_fn(&mut self, it: &'ast syn::ImplItemFn) {
        self.function(&it.sig, &it.block);
    }

    fn visit_trait_item_fn(&mut self, it: &'ast syn::TraitItemFn) {
        if let Some(block) = &it.default {
            self.function(&it.sig, block);
        }
    }

    fn visit_expr_binary(&mut self, it: &'ast syn::ExprBinary) {
        // `let` in a chain can stand in no branch.
        if !has_let(&it.left) && !has_let(&it.right) {
            let (left, right) = (tokens(&it.left), tokens(&it.right));
            let site = Site::Operator { whole: bytes(it), left, right };
            self.add(Genre::BinaryOperator, &it.op, site);
        }
        visit::visit_expr_binary(self, it);
    }

    fn visit_expr_unary(&mut self, it: &'ast syn::ExprUnary) {
        let site =
            Site::Operator { whole: bytes(it), left: String::new(), right: tokens(&it.expr) };
        self.add(Genre::UnaryOperator, &it.op, site);
        visit::visit_expr_unary(self, it);
    }

    fn visit_expr_match(&mut self, it: &'ast syn::ExprMatch) {
        for arm in &it.arms {
            let guard = arm.guard.as_ref().map(|(_, guard)| bytes(&**guard));
            let site = Site::Arm { whole: bytes(it), guard, pattern_end: bytes(&arm.pat).end };
            self.add(Genre::MatchArm, arm, site);
        }
        visit::visit_expr_match(self, it);
    }

    fn visit_arm(&mut self, it: &'ast Arm) {
        if let Some((_, guard)) = it.guard.as_ref().filter(|(_, guard)| !has_let(guard)) {
            self.add(Genre::MatchArmGuard, &**guard, Site::Guard(bytes(&**guard)));
        }
        visit::visit_arm(self, it);
    }

    fn visit_expr_struct(&mut self, it: &'ast ExprStruct) {
        for (place, field) in it.fields.iter().enumerate() {
            let others = it.fields.iter().enumerate().filter(|(at, _)| *at != place);
            let mut without = it.clone();
            without.fields = others.map(|(_, field)| field.clone()).collect();
            if !without.fields.is_empty() {
                // Otherwise `..` would follow the last value, as a range.
                without.fields.push_punct(syn::token::Comma::default());
            }
            let without = tokens(&without);
            self.add(Genre::StructField, field, Site::Field { whole: bytes(it), without });
        }
        visit::visit_expr_struct(self, it);
    }

    // What is computed before anything runs.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_variant(&mut self, _: &'ast syn::Variant) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_expr_repeat(&mut self, it: &'ast syn::ExprRepeat) {
        self.visit_expr(&it.expr);
    }
}

/// Whether `let` stands in a chain of `&&`.
fn has_let(it: &Expr) -> bool {
    match it {
        Expr::Let(_) => true,
        Expr::Binary(it) => has_let(&it.left) || has_let(&it.right),
        _ => false,
    }
}

fn bytes(it: &impl Spanned) -> Range<usize> {
    it.span().byte_range()
}

/// The text without comments, on one line.
fn tokens(it: &impl ToTokens) -> String {
    it.to_token_stream().to_string()
}
