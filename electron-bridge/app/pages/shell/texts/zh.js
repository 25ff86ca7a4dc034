/** Chinese: the shell. */

/** @type {import('../../common/text_format.js').Texts} */
export const zh = {
  'palette.open': '转到任何位置',
  'palette.title': '转到任何位置',
  'palette.label': '代码库、文件、符号或操作的名称',
  'palette.placeholder': '代码库、文件、符号、搜索或操作',
  'palette.placeholder.repos': '代码库或操作',
  'palette.none': '没有这个名称。',
  'palette.none.repos': '没有这个名称的代码库或操作。打开一个代码库后，可以转到其中的文件和符号。',
  'palette.search': '搜索“{text}”',
  'palette.tab': '显示{name}',
  'palette.repos': '显示代码库',
  'palette.add': '添加代码库',
  'palette.settings': '打开设置',
  'palette.section': '设置：{name}',
  'palette.theme': '主题：{name}',
  'palette.language': '语言：{name}',
  'palette.kind.action': '操作',
  'palette.kind.repository': '代码库',
  'palette.kind.file': '文件',
  'palette.kind.symbol': '符号',
  'palette.kind.query': '搜索',
};
