//! The modules of one crate as its sources declare them. Test modules are left out: they may use
//! anything.

use std::collections::BTreeMap;

use syn::{Attribute, Item, UseTree, Visibility};

/// The sources of a crate by their path below `src`.
pub type Sources = BTreeMap<String, String>;

/// The number of a module in its tree.
pub type ModuleId = usize;

/// A name that a module defines.
pub struct Definition {
    /// Whether a path may continue behind the name, as in `Kind::Variant` and `Type::method`.
    pub is_type: bool,
    /// The variants of an enum, which a glob import brings into scope.
    pub variants: Vec<String>,
}

/// One import: `use path as name;` or `use path::*;`.
pub struct Import {
    pub path: Vec<String>,
    /// The bound name; none for a glob import.
    pub name: Option<String>,
    /// Whether it is visible outside. A re-export only passes a name on.
    pub is_reexport: bool,
}

pub struct Module {
    pub file: String,
    pub parent: Option<ModuleId>,
    /// The child modules in the order of their declarations.
    pub children: Vec<(String, ModuleId)>,
    pub definitions: BTreeMap<String, Vec<Definition>>,
    pub imports: Vec<Import>,
    /// The items to read for arrows: all items except modules and tests.
    pub items: Vec<Item>,
}

impl Module {
    pub fn child(&self, name: &str) -> Option<ModuleId> {
        self.children.iter().find(|(child, _)| child == name).map(|(_, id)| *id)
    }
}

/// All modules of a crate; the first is `lib.rs`.
pub struct Tree {
    pub modules: Vec<Module>,
}

impl Tree {
    pub fn parse(sources: &Sources) -> Tree {
        let mut tree = Tree { modules: Vec::new() };
        let root = parse_file(sources, "lib.rs");
        tree.add_module("lib.rs", "", None, root, sources);
        tree
    }

    /// Adds a module. `folder` contains the files of its child modules.
    fn add_module(
        &mut self,
        file: &str,
        folder: &str,
        parent: Option<ModuleId>,
        items: Vec<Item>,
        sources: &Sources,
    ) -> ModuleId {
        let id = self.modules.len();
        let module = Module {
            file: file.to_owned(),
            parent,
            children: Vec::new(),
            definitions: BTreeMap::new(),
            imports: Vec::new(),
            items: Vec::new(),
        };
        self.modules.push(module);
        for item in items.into_iter().filter(|item| !is_test(attributes(item))) {
            let Item::Mod(child) = item else {
                self.add_item(id, item);
                continue;
            };
            let name = child.ident.to_string();
            let child_folder = format!("{folder}{name}/");
            let child_id = match child.content {
                Some((_, items)) => self.add_module(file, &child_folder, Some(id), items, sources),
                None => {
                    let flat = format!("{folder}{name}.rs");
                    let child_file = if sources.contains_key(&flat) { flat } else { format!("{child_folder}mod.rs") };
                    let items = parse_file(sources, &child_file);
                    self.add_module(&child_file, &child_folder, Some(id), items, sources)
                }
            };
            self.modules[id].children.push((name, child_id));
        }
        id
    }

    fn add_item(&mut self, id: ModuleId, item: Item) {
        let module = &mut self.modules[id];
        if let Item::Use(item) = &item {
            let is_reexport = !matches!(item.vis, Visibility::Inherited);
            module.imports.extend(imports(&item.tree, is_reexport));
        }
        if let Some((name, definition)) = definition(&item) {
            module.definitions.entry(name).or_default().push(definition);
        }
        module.items.push(item);
    }
}

fn parse_file(sources: &Sources, file: &str) -> Vec<Item> {
    let text = sources.get(file).unwrap_or_else(|| panic!("{file} is declared and missing"));
    syn::parse_file(text).unwrap_or_else(|error| panic!("{file}: {error}")).items
}

fn definition(item: &Item) -> Option<(String, Definition)> {
    let (name, is_type) = match item {
        Item::Const(item) => (&item.ident, false),
        Item::Fn(item) => (&item.sig.ident, false),
        Item::Macro(item) => (item.ident.as_ref()?, false),
        Item::Static(item) => (&item.ident, false),
        Item::Enum(item) => (&item.ident, true),
        Item::Struct(item) => (&item.ident, true),
        Item::Trait(item) => (&item.ident, true),
        Item::Type(item) => (&item.ident, true),
        Item::Union(item) => (&item.ident, true),
        _ => return None,
    };
    let variants = match item {
        Item::Enum(item) => item.variants.iter().map(|variant| variant.ident.to_string()).collect(),
        _ => Vec::new(),
    };
    Some((name.to_string(), Definition { is_type, variants }))
}

/// Returns the imports of one `use` item.
pub fn imports(tree: &UseTree, is_reexport: bool) -> Vec<Import> {
    let mut found = Vec::new();
    collect_imports(tree, &mut Vec::new(), is_reexport, &mut found);
    found
}

fn collect_imports(tree: &UseTree, prefix: &mut Vec<String>, is_reexport: bool, found: &mut Vec<Import>) {
    let mut add = |last: Option<String>, name: Option<String>| {
        let path = prefix.iter().cloned().chain(last).collect();
        found.push(Import { path, name, is_reexport });
    };
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            collect_imports(&path.tree, prefix, is_reexport, found);
            prefix.pop();
        }
        UseTree::Name(name) if name.ident == "self" => add(None, prefix.last().cloned()),
        UseTree::Name(name) => add(Some(name.ident.to_string()), Some(name.ident.to_string())),
        UseTree::Rename(rename) => {
            let last = (rename.ident != "self").then(|| rename.ident.to_string());
            add(last, Some(rename.rename.to_string()));
        }
        UseTree::Glob(_) => add(None, None),
        UseTree::Group(group) => {
            for tree in &group.items {
                collect_imports(tree, prefix, is_reexport, found);
            }
        }
    }
}

/// Returns whether an item is compiled for tests only.
pub fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        path.is_ident("test") || (path.is_ident("cfg") && needs_test(attribute))
    })
}

/// Returns whether the condition of a `cfg` is `test`, or an `all` that contains it.
fn needs_test(attribute: &Attribute) -> bool {
    let mut found = false;
    let _ = attribute.parse_nested_meta(|meta| {
        if meta.path.is_ident("test") {
            found = true;
        } else if meta.path.is_ident("all") {
            let _ = meta.parse_nested_meta(|inner| {
                found |= inner.path.is_ident("test");
                Ok(())
            });
        }
        Ok(())
    });
    found
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
