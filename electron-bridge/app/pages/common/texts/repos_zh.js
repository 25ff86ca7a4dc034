/** Chinese words of the list of repositories. */

/** @type {import('../text_format.js').Texts} */
export const reposZh = {
  'repos.title': '代码库',
  'repos.add': '添加代码库',
  'repos.count': { other: '{count} 个代码库' },
  'repos.list': '代码库，最近打开的在前',
  'repos.filter': '按名称或文件夹筛选',
  'repos.filter.none': '没有代码库与“{filter}”匹配。',
  'repos.filter.clear': '清除筛选',
  'repos.name': '名称',
  'repos.folder': '文件夹',
  'repos.opened': '最近打开',
  'repos.opened.never': '尚未打开',
  'repos.opened.at': '{ago}打开过',
  'repos.actions': '操作',
  'repos.open.label': '打开 {name}',
  'repos.delete.label': '从列表中删除 {name}',
  'repos.loading': '正在加载代码库…',
  'repos.empty.title': '添加第一个代码库',
  'repos.empty.text':
    '请选择一个存放代码的文件夹。codekernel 会读取它，在应用的用户数据中为它建立索引，然后帮您在其中查找。文件夹只会被读取，搜索也不需要网络。',
  'repos.keys': '{up} {down} 移动，{enter} 打开，{delete} 删除',
  'repos.keys.filter': '，{filter} 筛选',

  'create.title': '添加代码库',
  'create.folder': '文件夹',
  'create.folder.hint': '一个已存在文件夹的完整路径。',
  'create.name': '名称',
  'create.name.hint': '文件夹的名称；内核只接受这个名称。',
  'create.submit': '添加并打开',
  'create.folder.empty': '请填写文件夹。',
  'create.folder.relative': '请填写从根目录开始的完整路径。',
  'create.done': '已添加 {name}',

  'delete.title': '要从列表中删除 {name} 吗？',
  'delete.text': '它的索引会被删除，已打开的也会被关闭。',
  'delete.folder': '文件夹本身不会被改动：',
  'delete.confirm': '从列表中删除',
  'delete.done': '已从列表中删除 {name}，文件夹未改动',
};
