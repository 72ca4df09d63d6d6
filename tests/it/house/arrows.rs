//! The arrows between files. An arrow leads from a file to each file that defines an item which the
//! first file uses.
//!
//! The arrows come from all paths in the code outside of tests. A declaration `mod x;` and a
//! re-export make no arrow. The use of a re-exported item makes an arrow to the file that defines
//! the item. A method call makes no arrow, because only the compiler knows its type. A call of the
//! form `Type::function(…)` does.

use std::collections::{BTreeMap, BTreeSet};

use syn::buffer::Cursor;
use syn::parse::ParseStream;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ImplItem, ImplItemFn, Item, ItemImpl, ItemUse, Macro, Path, Type, VisRestricted};

use super::resolve::Target;
use super::tree::{ModuleId, Tree, imports, is_test};

/// The arrows from one file to another, with the used items of the second file.
pub type Arrows = BTreeMap<(String, String), BTreeSet<String>>;

/// The files that define the functions of each type of the crate, by module, type and function.
type Functions = BTreeMap<(ModuleId, String, String), BTreeSet<String>>;

pub fn arrows(tree: &Tree) -> Arrows {
    let functions = functions(tree);
    let mut arrows = Arrows::new();
    for (module, content) in tree.modules.iter().enumerate() {
        let mut reader = Reader { tree, functions: &functions, module, self_type: Vec::new(), arrows: &mut arrows };
        content.items.iter().for_each(|item| reader.visit_item(item));
    }
    arrows
}

/// Returns the files that define functions of types. A file may add functions to a type of another
/// file.
fn functions(tree: &Tree) -> Functions {
    let mut functions = Functions::new();
    for (id, module) in tree.modules.iter().enumerate() {
        for item in &module.items {
            let Item::Impl(item) = item else { continue };
            if item.trait_.is_some() {
                continue;
            }
            for (owner, name) in types(tree, id, &item.self_ty) {
                for function in item.items.iter().filter_map(function_name) {
                    functions.entry((owner, name.clone(), function)).or_default().insert(module.file.clone());
                }
            }
        }
    }
    functions
}

fn function_name(item: &ImplItem) -> Option<String> {
    match item {
        ImplItem::Fn(item) => Some(item.sig.ident.to_string()),
        ImplItem::Const(item) => Some(item.ident.to_string()),
        _ => None,
    }
}

/// Returns the types of the crate that a type in the code names.
fn types(tree: &Tree, module: ModuleId, of: &Type) -> Vec<(ModuleId, String)> {
    let Type::Path(path) = of else { return Vec::new() };
    let targets = tree.resolve(module, &segments(&path.path)).into_iter();
    targets
        .filter_map(|target| if let Target::Item { module, name, .. } = target { Some((module, name)) } else { None })
        .collect()
}

fn segments(path: &Path) -> Vec<String> {
    if path.leading_colon.is_some() {
        return Vec::new();
    }
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

/// Reads the items of one module.
struct Reader<'a> {
    tree: &'a Tree,
    functions: &'a Functions,
    module: ModuleId,
    /// The meaning of `Self` at this point.
    self_type: Vec<(ModuleId, String)>,
    arrows: &'a mut Arrows,
}

impl Reader<'_> {
    fn add(&mut self, to: &str, item: String) {
        let from = &self.tree.modules[self.module].file;
        if from != to {
            self.arrows.entry((from.clone(), to.to_owned())).or_default().insert(item);
        }
    }

    /// Adds the arrows of a path. A path that names only a module makes no arrow.
    fn follow(&mut self, path: &[String]) {
        for target in self.tree.resolve(self.module, path) {
            let Target::Item { module, name, rest } = target else { continue };
            self.add(&self.tree.modules[module].file, name.clone());
            self.follow_function(module, &name, &rest);
        }
    }

    /// Adds the arrow to the file that adds this function to a type of another file.
    fn follow_function(&mut self, module: ModuleId, name: &str, rest: &[String]) {
        let Some(function) = rest.first() else { return };
        let files = self.functions.get(&(module, name.to_owned(), function.clone()));
        for file in files.into_iter().flatten() {
            self.add(file, format!("{name}::{function}"));
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if let Item::Macro(item) = item {
            return self.visit_macro(&item.mac);
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let outer = std::mem::replace(&mut self.self_type, types(self.tree, self.module, &item.self_ty));
        visit::visit_item_impl(self, item);
        self.self_type = outer;
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if item.leading_colon.is_some() {
            return;
        }
        let imports = imports(&item.tree, !matches!(item.vis, syn::Visibility::Inherited));
        for import in imports.iter().filter(|import| !import.is_reexport) {
            self.follow(&import.path);
        }
    }

    fn visit_path(&mut self, path: &'ast Path) {
        let segments = segments(path);
        match segments.as_slice() {
            [first, rest @ ..] if first == "Self" => {
                for (module, name) in self.self_type.clone() {
                    self.follow_function(module, &name, rest);
                }
            }
            // A lower-case name by itself is more often a variable than an item.
            [single] if single.starts_with(char::is_lowercase) => {}
            _ => self.follow(&segments),
        }
        visit::visit_path(self, path);
    }

    fn visit_expr(&mut self, expr: &'ast Expr) {
        if let Expr::Call(call) = expr
            && let Expr::Path(function) = &*call.func
        {
            self.follow(&segments(&function.path));
        }
        visit::visit_expr(self, expr);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.follow(&segments(&call.path));
        let mut paths = Vec::new();
        let _ = call.parse_body_with(|input: ParseStream| {
            input.step(|cursor| {
                collect_paths(*cursor, &mut paths);
                let mut end = *cursor;
                while let Some((_, next)) = end.token_tree() {
                    end = next;
                }
                Ok(((), end))
            })
        });
        for path in paths {
            match path.as_slice() {
                [single] if single.starts_with(char::is_lowercase) => {}
                _ => self.follow(&path),
            }
        }
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_vis_restricted(&mut self, _: &'ast VisRestricted) {}
}

/// Collects the paths among the tokens of a macro call.
fn collect_paths(mut cursor: Cursor<'_>, paths: &mut Vec<Vec<String>>) {
    let mut is_start = true;
    while !cursor.eof() {
        if let Some((inner, _, _, after)) = cursor.any_group() {
            collect_paths(inner, paths);
            cursor = after;
            is_start = true;
        } else if let Some((ident, mut after)) = cursor.ident() {
            let mut path = vec![ident.to_string()];
            while let Some((ident, next)) = after_colons(after).and_then(Cursor::ident) {
                path.push(ident.to_string());
                after = next;
            }
            if is_start {
                paths.push(path);
            }
            cursor = after;
            is_start = true;
        } else if let Some((punct, after)) = cursor.punct() {
            let is_range = punct.as_char() == '.' && after.punct().is_some_and(|(next, _)| next.as_char() == '.');
            is_start =
                is_range || !matches!(punct.as_char(), '.' | ':') || after_colons(cursor).is_none() && punct.as_char() == ':';
            cursor = after;
        } else {
            let Some((_, after)) = cursor.token_tree() else { return };
            cursor = after;
            is_start = true;
        }
    }
}

fn after_colons(cursor: Cursor<'_>) -> Option<Cursor<'_>> {
    let (first, cursor) = cursor.punct()?;
    let (second, cursor) = cursor.punct()?;
    (first.as_char() == ':' && second.as_char() == ':').then_some(cursor)
}
